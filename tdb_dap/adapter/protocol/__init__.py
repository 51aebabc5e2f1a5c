"""The Debug Adapter Protocol itself: types generated from its schema."""
