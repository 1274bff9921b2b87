"""The screens: the session, and what lies over it for a moment."""
