"""Skills: instructions for certain tasks that the user keeps in folders of a profile and an agent reads when needed."""
