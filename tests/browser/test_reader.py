"""What a page does for its reader: questions that answer, kept progress, explained terms."""

from __future__ import annotations

import json

import pytest
from playwright.sync_api import expect


@pytest.fixture
def ring(visit, tiny_site):
    """The page with questions."""
    return visit((tiny_site / "chapter/ring.html").as_uri())


def quiz(page, name):
    return page.locator(f'[data-quiz="ring/{name}"]')


def test_a_choice_says_why_for_each_option(ring):
    box = quiz(ring, "pick")
    said, check = box.get_by_role("status"), box.get_by_role("button", name="Check")
    check.click()
    expect(said).to_have_text("Choose an answer first.")
    box.get_by_role("radio", name="a star").check()
    check.press("Enter")
    expect(said).to_have_text("✕ Not yet. A star has a middle.")
    expect(box).not_to_have_attribute("data-done", "")
    box.get_by_role("radio", name="a circle").check()
    check.click()
    expect(said).to_have_text("✓ Right. A circle has no end.")
    expect(box).to_have_attribute("data-done", "")
    expect(box.get_by_role("radiogroup", name="Which of these is a ring?")).to_be_visible()


@pytest.mark.parametrize(
    ("typed", "answer"),
    [
        ("1.75", "✓ Right. Seven eighths, twice."),
        ("1,75 GB", "✓ Right. Seven eighths, twice."),
        ("1.756", "✓ Right."),
        ("2", "✕ Not yet. Not 2 GB: that is the limit."),
        ("1.8", "✕ Not yet. Work it out once more"),
        ("", "Type a number"),
        ("much", "Type a number"),
    ],
)
def test_a_number_knows_the_known_mistakes(ring, typed, answer):
    box = quiz(ring, "count")
    box.get_by_role("textbox").fill(typed)
    box.get_by_role("textbox").press("Enter")
    expect(box.get_by_role("status")).to_contain_text(answer)


def test_an_order_is_made_by_keyboard(ring):
    box = quiz(ring, "sort")
    said = box.locator(".quiz-said")
    box.get_by_role("button", name="Check").click()
    expect(said).to_have_text("✕ Not yet. Something else comes first.")
    up = box.get_by_role("button", name="Move up: scatter")
    up.press("Enter")
    expect(up).to_be_focused()
    expect(box.get_by_text("scatter is now at place 1.")).to_be_attached()
    box.get_by_role("button", name="Check").press("Enter")
    expect(said).to_have_text("✓ Right. Nobody steps with half a sum.")


def test_progress_is_kept_shown_exported_imported_and_erased(ring, tiny_site, tmp_path):
    quiz(ring, "pick").get_by_role("radio", name="a circle").check()
    quiz(ring, "pick").get_by_role("button", name="Check").click()
    mark = ring.locator(".chapters [aria-current] .read")
    expect(mark).to_contain_text("1 of 3 questions answered")
    ring.evaluate("scrollTo(0, document.body.scrollHeight)")
    expect(mark).to_contain_text("read")

    ring.goto((tiny_site / "index.html").as_uri())
    expect(ring.locator(".chapters .read")).to_have_count(1)
    panel = ring.locator("details.progress")
    panel.locator("summary").press("Enter")
    expect(panel).to_contain_text("1 of 3 pages read, 1 of 3 questions that you have met answered")
    with ring.expect_download() as download:
        panel.get_by_role("button", name="Export").click()
    file = tmp_path / download.value.suggested_filename
    download.value.save_as(file)
    assert json.loads(file.read_text()) == {
        "read": {"ring": True},
        "asked": {"ring": 3},
        "answers": {"ring/pick": {"right": True, "tries": 1}},
    }
    erase = panel.get_by_role("button", name="Erase")
    erase.click()
    expect(panel).to_contain_text("Press Erase again")
    expect(ring.locator(".chapters .read")).to_have_count(1)
    erase.click()
    expect(ring.locator(".chapters .read")).to_have_count(0)
    panel.locator("input[type=file]").set_input_files(file)
    expect(panel).to_contain_text("Imported.")
    expect(ring.locator(".chapters .read")).to_contain_text("1 of 3 questions answered, read")
    other = tmp_path / "other.json"
    other.write_text('{"read": 5}')
    panel.locator("input[type=file]").set_input_files(other)
    expect(panel).to_contain_text("other.json holds no progress")


@pytest.mark.parametrize("kept", ["{", "null", '{"answers": {"ring/pick": 3}, "read": []}', "[1]"])
def test_damaged_storage_is_no_progress_and_no_fault(ring, kept):
    ring.evaluate("text => localStorage.setItem('shardwise-progress', text)", kept)
    ring.reload()
    expect(quiz(ring, "pick").get_by_role("radio")).to_have_count(3)
    expect(ring.locator(".chapters .read")).to_contain_text("0 of 3 questions answered")


def test_a_term_explains_itself_on_focus_and_hover(ring):
    term = ring.locator("a.term")
    tip = ring.get_by_role("tooltip")
    expect(tip).to_be_hidden()
    term.focus()
    expect(tip).to_contain_text("every device holds the sum")
    expect(term).to_have_accessible_description(tip.inner_text())
    term.press("Escape")
    expect(tip).to_be_hidden()
    term.hover()
    expect(tip).to_be_visible()


def test_a_page_without_scripts_shows_questions_and_answers(visit, tiny_site):
    page = visit((tiny_site / "chapter/ring.html").as_uri(), java_script_enabled=False)
    for text in ("a circle", "A circle has no end.", "1.75 GB.", "Nobody steps with half a sum."):
        expect(
            quiz(page, "pick")
            .or_(quiz(page, "count"))
            .or_(quiz(page, "sort"))
            .get_by_text(text)
            .first
        ).to_be_visible()
