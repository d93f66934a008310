"""DPrivBench for Inspect: does a described mechanism keep the privacy guarantee it claims?

Source: arXiv:2604.15851.
"""

__version__ = "0.1.0"
