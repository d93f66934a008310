"""Programs that recompute the labels of Category 2, one file a topic."""
