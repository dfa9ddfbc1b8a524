"""The student's side: the visible checks of a saved notebook, run fresh, in a second or two.

Nothing here imports torch or IPython but `warm` and `cold`, which run the cells. Whoever asks, the
command or the magic of a notebook, starts in a few hundredths of a second.
"""
