"""Google Cloud: the profile pack with the habits of its APIs."""
