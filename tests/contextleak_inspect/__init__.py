"""Tests of contextleak_inspect."""
