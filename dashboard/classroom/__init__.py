"""The class page: demonstrations, their figures, texts in several languages."""
