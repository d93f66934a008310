"""What Inspect should find by name."""
