"""Chat templates of the published kinds, in words of heed's own, with the texts that transformers' apply_chat_template makes.

    chat_templates.py     writes tests/golden/chat_templates.json: conversations, and of each template their texts without
                          and with the generation prompt; null where one is refused
"""

import json

from tokenizers import Tokenizer, models
from transformers import PreTrainedTokenizerFast

from common import OUT

NAMES = {"bos_token": "<s>", "eos_token": "</s>"}

TEMPLATES = {
    "chatml": """{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}""",
    "chatml_default_system": """{%- if messages[0]['role'] == 'system' %}
    {{- '<|im_start|>system\\n' + messages[0]['content'] + '<|im_end|>\\n' }}
{%- else %}
    {{- '<|im_start|>system\\nBe of help.<|im_end|>\\n' }}
{%- endif %}
{%- for message in messages %}
    {%- if (message.role == "user") or (message.role == "system" and not loop.first) or (message.role == "assistant") %}
        {{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>' + '\\n' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
{%- endif %}
""",
    "llama2": """{% if messages[0]['role'] == 'system' %}{% set turns = messages[1:] %}{% set system = messages[0]['content'] %}{% else %}{% set turns = messages %}{% set system = false %}{% endif %}{% for message in turns %}{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('user and assistant must take turns') }}{% endif %}{% if loop.index0 == 0 and system != false %}{% set content = '<<SYS>>\\n' + system + '\\n<</SYS>>\\n\\n' + message['content'] %}{% else %}{% set content = message['content'] %}{% endif %}{% if message['role'] == 'user' %}{{ bos_token + '[INST] ' + content.strip() + ' [/INST]' }}{% elif message['role'] == 'assistant' %}{{ ' ' + content.strip() + ' ' + eos_token }}{% endif %}{% endfor %}""",
    "llama3": """{% set turns = messages %}{% for message in turns %}{% set content = '<|start_header_id|>' + message['role'] + '<|end_header_id|>\n\n' + message['content'] | trim + '<|eot_id|>' %}{% if loop.index0 == 0 %}{% set content = bos_token + content %}{% endif %}{{ content }}{% endfor %}{% if add_generation_prompt %}{{ '<|start_header_id|>assistant<|end_header_id|>\n\n' }}{% endif %}""",
    "llama3_date": """{{- bos_token }}
{%- if not date_string is defined %}
    {%- if strftime_now is defined and false %}
        {%- set date_string = strftime_now("%d %b %Y") %}
    {%- else %}
        {%- set date_string = "26 Jul 2024" %}
    {%- endif %}
{%- endif %}
{%- if not tools is defined %}{%- set tools = none %}{%- endif %}
{#- The system's message stands by itself. #}
{%- if messages[0]['role'] == 'system' %}
    {%- set system = messages[0]['content']|trim %}
    {%- set messages = messages[1:] %}
{%- else %}
    {%- set system = "" %}
{%- endif %}
{{- "<|start_header_id|>system<|end_header_id|>\\n\\n" }}
{%- if tools is not none %}
    {{- "Tools: " + (tools | tojson(indent=4)) }}
{%- endif %}
{{- "Today: " + date_string + "\\n\\n" }}
{{- system }}
{{- "<|eot_id|>" }}
{%- for message in messages %}
    {%- if not (message.role == 'ipython' or message.role == 'tool' or 'tool_calls' in message) %}
        {{- '<|start_header_id|>' + message['role'] + '<|end_header_id|>\\n\\n'+ message['content'] | trim + '<|eot_id|>' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}
{%- endif %}
""",
    "zephyr": """{% for message in messages %}
{% if message['role'] == 'user' %}
{{ '<|user|>\n' + message['content'] + eos_token }}
{% elif message['role'] == 'system' %}
{{ '<|system|>\n' + message['content'] + eos_token }}
{% elif message['role'] == 'assistant' %}
{{ '<|assistant|>\n'  + message['content'] + eos_token }}
{% endif %}
{% if loop.last and add_generation_prompt %}
{{ '<|assistant|>' }}
{% endif %}
{% endfor %}""",
    "mistral": """{{ bos_token }}{% for message in messages %}{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('user/assistant/user/assistant is expected') }}{% endif %}{% if message['role'] == 'user' %}{{ '[INST] ' + message['content'] + ' [/INST]' }}{% elif message['role'] == 'assistant' %}{{ message['content'] + eos_token}}{% else %}{{ raise_exception('Only user and assistant roles are supported!') }}{% endif %}{% endfor %}""",
    "mistral_system": """{%- if messages[0]["role"] == "system" %}
    {%- set system_message = messages[0]["content"] %}
    {%- set loop_messages = messages[1:] %}
{%- else %}
    {%- set loop_messages = messages %}
{%- endif %}
{%- set user_messages = loop_messages | selectattr("role", "equalto", "user") | list %}
{%- set ns = namespace() %}
{%- set ns.index = 0 %}
{%- for message in loop_messages %}
    {%- if not (message.role == "tool" or (message.tool_calls is defined and message.tool_calls is not none)) %}
        {%- if (message["role"] == "user") != (ns.index % 2 == 0) %}
            {{- raise_exception("turns must alternate: " ~ message.role ~ " at " ~ ns.index) }}
        {%- endif %}
        {%- set ns.index = ns.index + 1 %}
    {%- endif %}
{%- endfor %}
{{- bos_token }}
{%- for message in loop_messages %}
    {%- if message["role"] == "user" %}
        {%- if loop.last and system_message is defined %}
            {{- "[INST] " + system_message + "\\n\\n" + message["content"] + "[/INST]" }}
        {%- else %}
            {{- "[INST] " + message["content"] + "[/INST]" }}
        {%- endif %}
    {%- elif message["role"] == "assistant" %}
        {{- " " + message["content"]|trim + eos_token}}
    {%- endif %}
{%- endfor %}
""",
    "gemma": """{{ bos_token }}{% if messages[0]['role'] == 'system' %}{{ raise_exception('no system role') }}{% endif %}{% for message in messages %}{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('roles must alternate') }}{% endif %}{% if (message['role'] == 'assistant') %}{% set role = 'model' %}{% else %}{% set role = message['role'] %}{% endif %}{{ '<start_of_turn>' + role + '\n' + message['content'] | trim + '<end_of_turn>\n' }}{% endfor %}{% if add_generation_prompt %}{{'<start_of_turn>model\n'}}{% endif %}""",
    "gemma_content_list": """{{ bos_token }}
{%- set first_user_prefix = "" -%}
{%- if messages[0]['role'] == 'system' -%}
    {%- if messages[0]['content'] is string -%}
        {%- set first_user_prefix = messages[0]['content'] + '\n\n' -%}
    {%- else -%}
        {%- set first_user_prefix = messages[0]['content'][0]['text'] + '\n\n' -%}
    {%- endif -%}
    {%- set loop_messages = messages[1:] -%}
{%- else -%}
    {%- set loop_messages = messages -%}
{%- endif -%}
{%- for message in loop_messages -%}
    {%- set role = "model" if message['role'] == 'assistant' else message['role'] -%}
    {{ '<start_of_turn>' + role + '\n' + (first_user_prefix if loop.first else "") }}
    {%- if message['content'] is string -%}
        {{ message['content'] | trim }}
    {%- elif message['content'] is iterable -%}
        {%- for item in message['content'] -%}
            {{ item['text'] | trim }}
        {%- endfor -%}
    {%- else -%}
        {{ raise_exception("Invalid content type") }}
    {%- endif -%}
    {{ '<end_of_turn>\n' }}
{%- endfor -%}
{%- if add_generation_prompt -%}
    {{'<start_of_turn>model\n'}}
{%- endif -%}
""",
    "phi": """{% for message in messages %}{% if message['role'] == 'system' and message['content'] %}{{'<|system|>\n' + message['content'] + '<|end|>\n'}}{% elif message['role'] == 'user' %}{{'<|user|>\n' + message['content'] + '<|end|>\n'}}{% elif message['role'] == 'assistant' %}{{'<|assistant|>\n' + message['content'] + '<|end|>\n'}}{% endif %}{% endfor %}{% if add_generation_prompt %}{{ '<|assistant|>\n' }}{% else %}{{ eos_token }}{% endif %}""",
    "thinking": """{%- set ns = namespace(multi_step=true, last=messages|length - 1) %}
{%- for message in messages[::-1] %}
    {%- set index = (messages|length - 1) - loop.index0 %}
    {%- if ns.multi_step and message.role == "user" and message.content is string and not(message.content.startswith('<tool>') and message.content.endswith('</tool>')) %}
        {%- set ns.multi_step = false %}
        {%- set ns.last = index %}
    {%- endif %}
{%- endfor %}
{%- for message in messages %}
    {%- if message.content is string %}
        {%- set content = message.content %}
    {%- else %}
        {%- set content = '' %}
    {%- endif %}
    {%- if message.role == "assistant" %}
        {%- set reasoning = '' %}
        {%- if '</think>' in content %}
            {%- set reasoning = content.split('</think>')[0].rstrip('\\n').split('<think>')[-1].lstrip('\\n') %}
            {%- set content = content.split('</think>')[-1].lstrip('\\n') %}
        {%- endif %}
        {%- if loop.index0 > ns.last and (loop.last or (not loop.last and reasoning)) %}
            {{- '<|im_start|>' + message.role + '\\n<think>\\n' + reasoning.strip('\\n') + '\\n</think>\\n\\n' + content.lstrip('\\n') }}
        {%- else %}
            {{- '<|im_start|>' + message.role + '\\n' + content }}
        {%- endif %}
        {{- '<|im_end|>\\n' }}
    {%- else %}
        {{- '<|im_start|>' + message.role + '\\n' + content + '<|im_end|>' + '\\n' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
    {%- if enable_thinking is defined and enable_thinking is false %}
        {{- '<think>\\n\\n</think>\\n\\n' }}
    {%- endif %}
{%- endif %}""",
    "vicuna": """{% if not add_generation_prompt is defined %}{% set add_generation_prompt = false %}{% endif %}{% set ns = namespace(found=false, n=0) %}{%- for m in messages if m.role == 'system' -%}{%- set ns.found = true -%}{{ m.content }} {% else %}A talk. {% endfor -%}
{%- for m in messages if m.role != 'system' -%}
{% set ns.n = ns.n + 1 %}{{ {'user': 'USER', 'assistant': 'ASSISTANT'}[m.role] }}: {{ m.content | trim }}{{ eos_token if m.role == 'assistant' else ' ' }}
{%- endfor %}{{ 'ASSISTANT:' if add_generation_prompt }}""",
    "blanks": """  {% if true %}  one
    {% for i in range(3) %}
  {{ i }},{# a remark #}
    {#- another -#}
      {% if i == 1 %}two{% endif %} {% if i == 2 -%}
         three
    {%- endif +%}
  {%+ set x = i %}|
    {% endfor %}
  {% endif %}

{{- "a" }}  {{ "b" -}}   
 c
""",
    "expressions": """{{ 7 // 2 }} {{ -7 // 2 }} {{ -7 % 3 }} {{ 7 / 2 }} {{ 2 * 3 + 4 * 5 - 1 }} {{ 1.5 + 1 }} {{ 'ab' * 3 }}
{{ 'a' ~ 1 ~ none ~ true ~ 2.0 ~ undefined_thing }} {{ 1 < 2 <= 2 != 3 }} {{ 'b' > 'a' and not false or false }} {{ 1 == 1.0 }} {{ true == 1 }}
{{ 'x' in 'axb' }} {{ 'x' not in ['x', 'y'] }} {{ 'k' in {'k': 1} }} {{ not 'a' in 'b' }} {{ '' or 'other' }} {{ 'one' and 'two' }}
{{ 'Größe ß'.upper() }} {{ 'ΑΣ'.lower() }} {{ '  a b '.strip() }}|{{ 'xxaxx'.strip('x') }}|{{ 'a,b,,c'.split(',') | join('-') }}|{{ ' a  b '.split() | join('/') }}
{{ 'a,b,c'.split(',', 1)[1] }} {{ 'hello world'.title() }} {{ 'hELLO'.capitalize() }} {{ 'aXbX'.replace('X', 'yy') }} {{ 'aXbX'.replace('X', '', 1) }}
{{ '한국어'[1] }} {{ '한국어'[-1] }} {{ '한국어'[::-1] }} {{ 'abcdef'[1:4] }} {{ 'abcdef'[-2:] }} {{ 'abcdef'[:10:2] }} {{ '한국어' | length }} {{ [1, 2, 3][10:] | length }}
{{ {'a': [1, 2.5, none, true, 'ä"\\n'], 'b': {}} | tojson }} {{ [] | tojson }} {{ {'a': [1, {'b': 2}]} | tojson(indent=2) }}
{{ missing | default('none here') }} {{ '' | default('empty', true) }} {{ messages | map(attribute='role') | join(', ') }} {{ messages | first | items | first | first }}
{{ messages | rejectattr('role', 'equalto', 'user') | list | length }} {{ (messages | last).role }} {{ messages[0].get('name', 'nobody') }} {{ messages[0].name is defined }} {{ none is none }}
{{ 3 is odd }} {{ 4 is divisibleby 2 }} {{ messages is iterable }} {{ messages[0] is mapping }} {{ 'a' is string }} {{ 1 is number }} {{ 1 is not string }} {{ x is undefined }} {{ 'a' is in ['a'] }}
{% for k, v in {'a': 1, 'b': 2}.items() %}{{ k }}={{ v }}{{ ', ' if not loop.last }}{% endfor %} {% for c in 'ab' %}{{ loop.index }}{{ c }}{{ loop.revindex }}{{ loop.length }}{% endfor %}
{% for x in [] %}{% else %}none{% endfor %} {% for x in [1, 2, 3, 4] %}{% if x == 2 %}{% continue %}{% endif %}{% if x == 4 %}{% break %}{% endif %}{{ x }}{{ loop.previtem }}{{ loop.nextitem }} {% endfor %}
{% set kept %}in {{ 'a block' }}{% endset %}{{ kept | upper }} {% set a = 'out' %}{% for i in range(2) %}{% set a = 'in' %}{{ a }}{% endfor %}{{ a }} {{ "q\\"u" 'ote' }} {{ '42' | int + 1 }} {{ 'x' | int(7) }} {{ ('a', 'b') | join }} {{ ([3] + [4]) | length }}{{ '\\u00e9\\x41' }}""",
}  # fmt: skip

TALKS = [
    [("user", "Hi")],
    [("user", "Hello there "), ("assistant", " General Kenobi!\n"), ("user", "What?")],
    [("system", " You are a bot. "), ("user", "안녕하세요?"), ("assistant", "네, 반갑습니다 😀")],
    [("user", "a\n\nb <|im_end|> {{ c }}"), ("assistant", "<think>\nhm\n</think>\n\nwell"), ("user", "and"), ("assistant", "<think>no</think>so")],
    [("system", "s"), ("user", "1"), ("assistant", "2"), ("user", "3"), ("assistant", "4"), ("user", "5")],
    [("assistant", "I begin"), ("user", "why")],
    [("user", "one"), ("user", "two")],
]  # fmt: skip


def make():
    vocabulary = {"<s>": 0, "</s>": 1, "<unk>": 2}
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=Tokenizer(models.WordLevel(vocabulary, "<unk>")), **NAMES)
    talks = [[{"role": role, "content": content} for role, content in talk] for talk in TALKS]
    kinds = []
    for name, template in TEMPLATES.items():
        texts = []
        for messages in talks[: 2 if name in ("blanks", "expressions") else None]:
            for asks in [False, True]:
                try:
                    texts.append(tokenizer.apply_chat_template(messages, chat_template=template, tokenize=False, add_generation_prompt=asks))
                except Exception as error:  # noqa: BLE001 - whatever it raises, heed must refuse
                    if "raise" not in template:
                        raise error
                    texts.append(None)
        kinds.append({"name": name, "template": template, "texts": texts})
    whole = {"names": NAMES, "talks": talks, "kinds": kinds}
    (OUT / "chat_templates.json").write_text(json.dumps(whole, ensure_ascii=False, indent=0) + "\n")


if __name__ == "__main__":
    make()
