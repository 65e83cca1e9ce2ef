"""Modules of a script that nothing reaches are emptied; reached modules stay, and so does a script of another form."""

from __future__ import annotations

import pytest

from dashboard.core.unreached import without_unreached

HELPERS = (
    "var Ea=(e,t,r)=>()=>{if(r)throw r[0];try{return e&&(t=e(e=0)),t}catch(i){throw r=[i],i}};"
    "var W=(e,t)=>()=>{try{return t||e((t={exports:{}}).exports,t),t.exports}catch(r){throw t=0,r}};"
)
USED = "var used=W((a,b)=>{b.exports=inner$()}),inner$=W(()=>{late()});var "
ALONE, LONELY = 'alone=W((c,d)=>{d.exports="})";x={f(){}}}),', "lonely=W(e=>{alone()}),"
NEEDED = "needed=W(()=>{});"
LATE = "function of_late(){return needed()}var v,late=Ea(()=>{v=1}),"
LAST = "last=W((f,g)=>{});return used()})()"
SCRIPT = HELPERS + USED + ALONE + LONELY + NEEDED + LATE + LAST
EMPTY = "alone=W(()=>{}),lonely=W(()=>{}),"


def test_modules_that_nothing_reaches_are_emptied() -> None:
    assert without_unreached(SCRIPT) == HELPERS + USED + EMPTY + NEEDED + LATE + LAST


def test_a_name_that_stands_somewhere_keeps_its_module() -> None:
    script = SCRIPT.replace("v=1", "v=lonely")
    assert without_unreached(script) == script


def test_a_module_before_another_form_stays_because_code_stands_between() -> None:
    script = SCRIPT.replace("late()", "").replace(LATE, LATE.replace("needed()", "0"))
    assert without_unreached(script) == script.replace(ALONE + LONELY, EMPTY)


@pytest.mark.parametrize(
    ("there", "other"),
    [("{exports:{}}", "{module:{}}"), ("if(r)throw", "if(r)return"), ("lonely=", "alone="), ("=W(", "=V(")],
)
def test_a_script_of_another_shape_stays(there: str, other: str) -> None:
    script = SCRIPT.replace(there, other)
    assert without_unreached(script) == script
