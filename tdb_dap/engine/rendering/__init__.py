"""Text and HTML that is safe to show, whatever names a model holds."""
