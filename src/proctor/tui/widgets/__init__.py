"""The widgets: few, small, and without an opinion on what they show."""
