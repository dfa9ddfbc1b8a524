"""A course folder and its gradebook, in nbgrader's own form.

`course.Course` is the only place that writes into either.
"""
