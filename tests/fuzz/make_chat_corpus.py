"""Writes corpus/chat_template and corpus/chat_lines. What is right is right_*, what is wrong broken_*. Run by hand after a change."""

import json
from pathlib import Path

HERE = Path(__file__).parent
GOLDEN = json.loads((HERE.parent / "golden" / "chat_templates.json").read_text())
LOOP = "{% for i in range(9999) %}"

TEMPLATES = {f"right_{kind['name']}": kind["template"] for kind in GOLDEN["kinds"]} | {
    "broken_quote": "{{ 'a }}",
    "broken_print": "{{ a",
    "broken_block": "{% if a",
    "broken_comment": "{# a",
    "broken_if": "{% if a %}",
    "broken_end": "{% endfor %}",
    "broken_macro": "{% macro f(x) %}{{ x }}{% endmacro %}",
    "broken_filter": "{{ a | shuffle }}",
    "broken_test": "{{ a is lovely }}",
    "broken_function": "{{ cycler(1) }}",
    "broken_method": "{{ 'a'.encode() }}",
    "broken_brackets": "{{ (a] }}",
    "broken_code": "{{ '\\u12",
    "broken_bytes": b"{{ '\xff' + '\xed\xa0\x80' }}\xc3",
    "broken_division": "{{ 1 // 0 }}",
    "broken_large": "{{ 999999999999999999 * 999999999999999999 }}",
    "broken_negated": "{{ (0 - 999999999999999999 * 9 - 999999999999999999) // -1 }}",
    "broken_steps": LOOP + LOOP + "{% endfor %}{% endfor %}",
    "broken_doubled": "{% set n = namespace(x='ab') %}{% for i in range(99) %}{% set n.x = n.x * 8 %}{% endfor %}",
    "broken_nested": "{% set n = namespace(x=[]) %}" + LOOP + "{% set n.x = [n.x, n.x] %}{% endfor %}{{ n.x | tojson }}",
    "broken_shared": "{% set n = namespace(x=[1]) %}{% for i in range(40) %}{% set n.x = [n.x, n.x] %}{% endfor %}{{ n.x | tojson }}",
    "broken_itself": "{% set n = namespace() %}{% set n.n = n %}",
    "broken_deep": "{{ " + "(" * 1000,
    "broken_long": "{{ 1" + "+1" * 2000 + " }}",
    "broken_raised": "{{ raise_exception('a\nb') }}",
    "broken_slice": "{{ 'abc'[::0] }}",
    "right_slices": "{{ 'abcdef'[-999999999999999999:999999999999999999:-999999999999999999] }}",
    "right_empty": "",
    "right_generation": "{% for m in messages %}{% generation %}{{ m.content }}{% endgeneration %}{% endfor %}",
}


def talk(*pairs, **more):
    return {"messages": [{"role": role, "content": content} for role, content in pairs], **more}


LINES = {
    "right_two": talk(("user", "Hi"), ("assistant", "Hello")),
    "right_system": talk(("system", "s"), ("user", "왜?"), ("assistant", "그래서 😀\n\t")),
    "right_turns": talk(("user", "1"), ("assistant", "2"), ("user", "3"), ("assistant", "4"), id=7),
    "right_completion": {"prompt": "2 + 2", "completion": "4"},
    "right_instruction": {"instruction": "Translate", "input": "cat", "output": "고양이"},
    "right_no_input": {"instruction": "Say hi", "output": "hi"},
    "broken_empty": {"messages": []},
    "broken_no_answer": talk(("user", "Hi")),
    "broken_role": talk(("user", "Hi"), ("tool\n\u0001", "Hello")),
    "broken_role_number": {"messages": [{"role": 1, "content": "a"}]},
    "broken_content": {"messages": [{"role": "user", "content": ["a"]}]},
    "broken_message": {"messages": ["a", None]},
    "broken_messages": {"messages": {"role": "user"}},
    "broken_completion": {"prompt": "a", "completion": None},
    "broken_output": {"instruction": "a"},
    "broken_keys": {"text": "a"},
    "broken_list": [1],
    "broken_null": None,
    "broken_cut": '{"messages": [{"role": "user"',
    "broken_bytes": b'{"messages": "\xff"}',
    "broken_surrogate": '{"prompt": "\\ud800", "completion": ""}',
    "broken_deep": "[" * 3000,
    "broken_nothing": "",
    "broken_twice": "{} {}",
    "broken_number": '{"prompt": "a", "completion": "b", "id": 1e999}',
}

for name, files in {"chat_template": TEMPLATES, "chat_lines": LINES}.items():
    folder = HERE / "corpus" / name
    folder.mkdir(parents=True, exist_ok=True)
    for file, content in files.items():
        if not isinstance(content, (str, bytes)):
            content = json.dumps(content, ensure_ascii=False)
        (folder / file).write_bytes(content if isinstance(content, bytes) else content.encode())
