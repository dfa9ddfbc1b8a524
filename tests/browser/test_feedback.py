"""Feedback pages in a real browser: readable, reachable, and no place for a student's script."""

from __future__ import annotations

import pytest
from exercises.feedback_samples import HOSTILE, FakeCourse, submission
from visiting import THEMES, WIDTHS, violations

from shardwise_grading.feedback import write_feedback
from shardwise_grading.similarity import compare, write_pages
from shardwise_grading.similarity.features import Work

PAGES = ("2-stage-2-memory", "5-microbatches", "index")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    course = FakeCourse(tmp_path_factory.mktemp("course"), [submission(HOSTILE)])
    return write_feedback(course, "distributed-training")[0].parent


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_accessible_and_never_wider_than_the_screen(visit, folder, name, width, theme):
    page = visit((folder / f"{name}.html").as_uri(), width=width, theme=theme, bypass_csp=True)
    page.evaluate("document.querySelectorAll('details').forEach(box => { box.open = true })")
    assert violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert background == {"light": "rgb(255, 255, 255)", "dark": "rgb(20, 24, 29)"}[theme]


@pytest.mark.parametrize("name", PAGES)
def test_under_its_own_policy_a_page_asks_for_nothing_and_runs_nothing(visit, folder, name):
    page = visit((folder / f"{name}.html").as_uri())
    assert page.evaluate("document.scripts.length") == 0
    assert page.evaluate("[...document.images].every(image => image.naturalWidth > 0)")
    assert {url.partition(":")[0] for url in visit.requests} <= {"file", "data"}
    visit.expected = "Content Security Policy"
    tried = "el => { el.setAttribute('onclick', 'document.title = 1'); el.click() }"
    page.locator("h1").evaluate(tried)
    assert page.title() != "1"


def test_from_one_page_to_the_next_also_by_keyboard(visit, folder):
    page = visit((folder / "index.html").as_uri())
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_url("**/2-stage-2-memory.html")
    page.get_by_role("link", name="5-microbatches").click()
    page.wait_for_url("**/5-microbatches.html")


def test_on_paper_a_dark_page_is_light_and_its_points_keep_their_colour(visit, folder):
    page = visit((folder / "2-stage-2-memory.html").as_uri(), theme="dark")
    page.emulate_media(media="print")
    colour = "selector => getComputedStyle(document.querySelector(selector))"
    assert page.evaluate(f"({colour})('body').backgroundColor") == "rgb(255, 255, 255)"
    assert page.evaluate(f"({colour})('.points').printColorAdjust") == "exact"
    assert not page.get_by_role("navigation").is_visible()


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    code = f"# a remark of my very own\nmy_own_name = 1\nyour_own_name = 2\n{HOSTILE}\n" + "x" * 500
    works = {name: {"n": Work(code, HOSTILE), "m": Work(code)} for name in ("ann", "bob")}
    works["eve"] = {"n": Work("y = 1")}
    return write_pages(compare("a", works, {}), tmp_path_factory.mktemp("similar"))


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("number", [0, 1], ids=["all pairs", "one pair"])
def test_pages_of_similar_works_are_accessible_too(visit, pair, number, width, theme):
    page = visit(pair[number].as_uri(), width=width, theme=theme, bypass_csp=True)
    assert violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_similar_works_stand_side_by_side_where_there_is_room(visit, pair):
    page = visit(pair[1].as_uri())
    first, second = (page.locator(".sides section").nth(n).bounding_box() for n in (0, 1))
    assert first["y"] == second["y"]
    assert first["x"] + first["width"] <= second["x"]
    page.set_viewport_size({"width": 360, "height": 800})
    assert page.locator(".sides section").nth(1).bounding_box()["x"] == 16
