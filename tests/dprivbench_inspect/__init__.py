"""Tests of dprivbench_inspect."""
