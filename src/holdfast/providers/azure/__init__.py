"""Azure Resource Manager: the profile pack with the habits of its APIs."""
