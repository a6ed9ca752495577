"""The RunPod resource classes that people write in Python, their fields and words. The classes need pydantic."""
