"""Other ways in and out than the terminal."""
