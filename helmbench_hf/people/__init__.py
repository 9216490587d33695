"""People: they answer cases as a model does (human baseline), rate replies as a judge does, and sit SIRI-2."""
