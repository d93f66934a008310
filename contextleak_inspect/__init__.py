"""ContextLeak for Inspect: what a private in-context-learning system leaks, as bounds on ε.

Source: arXiv:2512.16059.
"""

__version__ = "0.1.0"
