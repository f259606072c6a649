"""What comes with the harness, through the same door as a stranger's plugins."""
