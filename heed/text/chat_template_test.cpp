#include "heed/text/chat_template.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "heed/base/error.h"
#include "heed/text/char_tokenizer.h"
#include "heed/text/chat_ids.h"
#include "heed/text/train_tokenizer_lm.h"

namespace heed::text {
namespace {

using nlohmann::json;

const ValueDict kNames = {{"bos_token", Value::text("<s>")}, {"eos_token", Value::text("</s>")}};

std::string message_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const FileError& error) {
    return error.what();
  }
  return "no error";
}

// What a template says that has nothing but variables of its own.
std::string said(const std::string& source, Template::Limits limits = {}) {
  return Template(source, "T").render(kNames, limits);
}
std::string refused(const std::string& source) {
  return message_of([&] { said(source); });
}

Conversation conversation_of(const json& messages) {
  Conversation all;
  for (const json& m : messages) all.push_back({m["role"], m["content"]});
  return all;
}

TEST(ChatTemplate, WritesWhatTransformersWrites) {
  std::ifstream file(std::string(HEED_SOURCE_DIR) + "/tests/golden/chat_templates.json");
  const json golden = json::parse(file);
  int refusals = 0, written = 0;
  for (const json& kind : golden["kinds"]) {
    const ChatTemplate chat(kind["template"].get<std::string>(), kNames, "T");
    for (size_t i = 0; i < kind["texts"].size(); ++i) {
      const Conversation talk = conversation_of(golden["talks"][i / 2]);
      const auto render = [&] { return chat.render(talk, i % 2 == 1); };
      if (kind["texts"][i].is_null()) {
        EXPECT_NE(message_of(render), "no error") << kind["name"] << i;
        ++refusals;
      } else {
        EXPECT_EQ(render(), kind["texts"][i]) << kind["name"] << " " << i;
        ++written;
      }
    }
  }
  EXPECT_GE(refusals, 20);
  EXPECT_GE(written, 150);
}

TEST(Template, WhatItDoesNotUnderstandHasAPlace) {
  EXPECT_EQ(refused("{% macro f() %}{% endmacro %}"),
            "[template] T:1:1: a block 'macro', expected one of for, if, set, break, continue, generation");
  EXPECT_EQ(refused("a\n {{ x | shuffle }}"), "[template] T:2:7: a filter that heed does not know: 'shuffle'");
  EXPECT_EQ(refused("{{ x is lovely }}"), "[template] T:1:6: a test that heed does not know: 'lovely'");
  EXPECT_EQ(refused("\n\n{{ today() }}"), "[template] T:3:9: a function that heed does not know: 'today'");
  EXPECT_EQ(refused("{{ 'a'.swapcase() }}"), "[template] T:1:16: a text has no method 'swapcase' that heed knows");
  EXPECT_EQ(refused("{{ [1] }}"), "[template] T:1:4: a list is written as text, expected one (tojson makes it)");
  EXPECT_EQ(refused("{{ a.b.c }}"), "[template] T:1:5: 'a' is undefined, and its 'b' is asked for");
  EXPECT_EQ(refused("{{ 'x' + nothing }}"), "[template] T:1:8: 'nothing' is undefined");
  EXPECT_EQ(refused("{{ 'x' + 1 }}"), "[template] T:1:8: what stands behind + is a number, expected a text");
  EXPECT_EQ(refused("{{ raise_exception('no\nway') }}"), "[template] T:1:19: no\\x0away");
}

TEST(Template, BrokenOnesHaveAPlace) {
  const std::pair<const char*, const char*> cases[] = {
      {"{{ 'a }}", "1:4: a text without its closing quote"},
      {"{{ a", "1:1: a tag without end, expected }}"},
      {"a\n{% if a", "2:1: a tag without end, expected %}"},
      {"{# a", "1:1: a comment without end, expected #}"},
      {"{% if a %}b", "1:1: 'if' without 'endif'"},
      {"{% for a in b %}b", "1:1: 'for' without 'endfor'"},
      {"{% set a %}b", "1:1: 'set' without 'endset'"},
      {"{% endif %}", "1:1: 'endif' that ends nothing"},
      {"{% if a %}{% endfor %}{% endif %}", "1:11: 'endfor' that ends nothing"},
      {"{% break %}", "1:1: 'break' outside of a loop"},
      {"{{ }}", "1:4: '}}', expected a value"},
      {"{{ a b }}", "1:6: 'b', expected '}}'"},
      {"{{ (a }}", "1:7: an unexpected '}'"},
      {"{{ a) }}", "1:5: an unexpected ')'"},
      {"{{ a[ }}", "1:7: an unexpected '}'"},
      {"{{ a[] }}", "1:6: ']', expected an index"},
      {"{{ a ? b }}", "1:6: an unexpected '?'"},
      {"{{ '\\u12' }}", "1:9: a character's code is broken"},
      {"{{ 1234567890123456789 }}", "1:4: a number of more than 18 digits"},
      {"{% for 1 in a %}{% endfor %}", "1:8: '1', expected a name"},
      {"{% set 1 = a %}", "1:8: '1', expected a name"},
      {"{% set a.b %}{% endset %}", "1:12: '%}', expected '='"},
      {"{% %}", "1:4: '%}', expected a name"},
      {"{{ f(a=1, 2) }}", "1:11: '2', expected a named argument behind another"},
      {"{{ 'a'() }}", "1:7: a call of what has no name"},
      {"{{ {'a'} }}", "1:8: '}', expected ':'"},
      {"{% for a, b in [1] %}{% endfor %}", "1:16: a number has no items, expected a list"},
      {"{% for a, b in ['xyz'] %}{% endfor %}", "an item of 3 parts, expected 2"},
      {"{% set a.b = 1 %}", "1:1: 'a' is undefined, expected a namespace"},
      {"{{ 1 / 0 }}", "1:6: a division by 0"},
      {"{{ 1 % 0 }}", "1:6: a division by 0"},
      {"{{ 999999999999999999 * 999999999999999999 }}", "a number beyond 64 bits"},
      {"{{ [1] < 2 }}", "a list and a number have no order"},
      {"{{ 'abc'[::0] }}", "a slice by steps of 0"},
      {"{{ none | length }}", "none has no length"},
  };
  for (const auto& [source, part] : cases) {
    const std::string found = refused(source);
    EXPECT_TRUE(found.starts_with("[template] T:")) << source << "\n" << found;
    EXPECT_NE(found.find(part), found.npos) << source << "\n  found: " << found << "\n  expected: " << part;
  }
}

// A stranger's template neither hangs nor fills the memory nor the stack.
TEST(Template, IsBounded) {
  const std::string loops = "{% for a in range(9999) %}{% for b in range(9999) %}{% endfor %}{% endfor %}";
  EXPECT_NE(refused(loops).find(": it would "), std::string::npos);  // whichever bound is reached first
  EXPECT_NE(refused("{{ 'x' * 999999999 }}").find("too long"), std::string::npos);
  EXPECT_NE(refused("{{ range(999999999999) | length }}").find("too long"), std::string::npos);
  const std::string doubles =
      "{% set n = namespace(x='aaaaaaaaaaaaaaaa') %}{% for i in range(60) %}{% set n.x = n.x + n.x %}{% endfor %}";
  EXPECT_NE(refused(doubles).find("it would fill the memory"), std::string::npos);
  const std::string nests = "{% set n = namespace(x=[]) %}{% for i in range(5000) %}{% set n.x = [n.x] %}{% endfor %}";
  EXPECT_NE(refused(nests).find("lists too deep in lists"), std::string::npos);
  const std::string shares =
      "{% set n = namespace(x=[1]) %}{% for i in range(60) %}{% set n.x = [n.x, n.x] %}{% endfor %}{{ n.x == n.x }}";
  EXPECT_NE(refused(shares).find("it would take too long"), std::string::npos);
  EXPECT_NE(refused("{% set n = namespace() %}{% set n.n = n %}").find("a namespace in a namespace"),
            std::string::npos);
  EXPECT_NE(refused("{% set n = namespace() %}{% set l = [n] %}").find("a namespace in a list"), std::string::npos);
  const auto times = [](const std::string& text, size_t n) {
    std::string all;
    for (size_t i = 0; i < n; ++i) all += text;
    return all;
  };
  for (const std::string& source :
       {"{{ " + times("(", 5000) + "1" + times(")", 5000) + " }}", "{{ " + times("not ", 50000) + "1 }}",
        "{{ " + times("-", 50000) + "1 }}", "{{ 1" + times(" + 1", 50000) + " }}", "{{ a" + times(".a", 50000) + " }}",
        times("{% if 1 %}", 50000), "{{ a" + times("|trim", 50000) + " }}",
        "{{ " + times("[", 5000) + times("]", 5000) + " }}"}) {
    EXPECT_NE(refused(source).find("nested too deep"), std::string::npos) << source.substr(0, 20) << refused(source);
  }
  EXPECT_EQ(said("{{ 1" + times(" + 1", 50) + " }}"), "51");
  EXPECT_NE(refused(std::string(2 << 20, 'x')).find("2097152 bytes, expected at most 1048576"), std::string::npos);
}

ChatTemplate chatml() { return {default_chat_template(false), {}, "T"}; }

// Searching and comparing cost what they read; a second or two would be a minute of someone's time in a loop.
TEST(Template, PaysForWhatItReads) {
  const std::string long_text = "{% set t = 'a' * 1000 * 900 %}{% set n = 'a' * 1000 * 450 ~ 'b' %}";
  EXPECT_NE(refused(long_text + "{% for i in range(90) %}{{ n in t }}{% endfor %}").find("too long"),
            std::string::npos);
  EXPECT_NE(refused(long_text + "{% for i in range(90) %}{{ t < t }}{% endfor %}").find("too long"), std::string::npos);
  EXPECT_NE(refused(long_text + "{% for i in range(90) %}{{ t | length }}{% endfor %}").find("too long"),
            std::string::npos);
  EXPECT_NE(refused(long_text + "{% for i in range(90) %}{{ t.startswith(t) }}{% endfor %}").find("too long"),
            std::string::npos);
  EXPECT_EQ(said(long_text + "{{ n in t }}{{ (t ~ n) | length }}"), "False1350001");
  std::string names;
  for (int i = 0; i < 20000; ++i) names += "{%set a" + std::to_string(i) + "=1%}";
  EXPECT_NE(refused(names).find("too long"), std::string::npos);
}

TEST(ChatTemplate, KnowsWhereAnswersStandAndHowTheyEnd) {
  const ChatTemplate chat = chatml();
  EXPECT_EQ(chat.end_mark(), "<|im_end|>");
  const Conversation talk = {
      {"system", "s"}, {"user", "Hi"}, {"assistant", "Hello"}, {"user", "assistant"}, {"assistant", "Hello"}};
  const std::string whole = chat.render(talk, false);
  const auto parts = chat.answers(talk, whole);
  ASSERT_EQ(parts.size(), 2u);
  for (const ChatTemplate::Part& part : parts) {
    EXPECT_EQ(whole.substr(part.begin, part.end - part.begin), "Hello<|im_end|>");
    EXPECT_TRUE(std::string_view(whole).substr(0, part.begin).ends_with("<|im_start|>assistant\n"));
  }
  EXPECT_EQ(ChatTemplate("{% for m in messages %}{{ m.content }}{% endfor %}", {}, "T").end_mark(), "");
  EXPECT_EQ(ChatTemplate("{% for m in messages %}{{ m.content + '\\n' }}{% endfor %}", {}, "T").end_mark(), "\n");
  EXPECT_EQ(ChatTemplate("{{ raise_exception('never') }}", {}, "T").end_mark(), "");
}

// A template that moves what it said before: only the last answer stands where it was asked for.
TEST(ChatTemplate, AnAnswerThatChangesLaterIsNoneToLearnFrom) {
  const ChatTemplate chat(
      "{% for m in messages %}{{ m.content if loop.last or m.role == 'user' else 'old' }};{% endfor %}", {}, "T");
  const Conversation talk = {{"user", "1"}, {"assistant", "2"}, {"user", "3"}, {"assistant", "4"}};
  const std::string whole = chat.render(talk, false);
  EXPECT_EQ(whole, "1;old;3;4;");
  const auto parts = chat.answers(talk, whole);
  ASSERT_EQ(parts.size(), 1u);
  EXPECT_EQ(whole.substr(parts[0].begin, parts[0].end - parts[0].begin), "4;");
}

TEST(ChatTemplate, ComesFromTheFilesOfATokenizer) {
  const auto text_of = [](const NamedFiles& files) {
    const auto chat = read_chat_template(files, "M");
    if (!chat) return std::string("none");
    const Conversation conversation = {{"user", "x"}};
    return chat->render(conversation, false);
  };
  EXPECT_EQ(text_of({}), "none");
  EXPECT_EQ(text_of({{"tokenizer_config.json", "{}"}}), "none");
  EXPECT_EQ(text_of({{"tokenizer_config.json", R"({"chat_template": null})"}}), "none");
  EXPECT_EQ(text_of({{"tokenizer_config.json", R"({"chat_template": "{{ eos_token }}", "eos_token": "E"})"}}), "E");
  EXPECT_EQ(
      text_of({{"tokenizer_config.json",
                R"({"chat_template": [{"name": "tools", "template": "t"}, {"name": "default", "template": "d"}]})"}}),
      "d");
  EXPECT_EQ(text_of({{"tokenizer_config.json", R"({"chat_template": "c"})"}, {"chat_template.jinja", "j\n"}}), "j");
  EXPECT_EQ(message_of([&] {
              text_of({{"tokenizer_config.json", R"({"chat_template": 3})"}});
            }),
            "[tokenizer] M/tokenizer_config.json: 'chat_template' is neither a text nor a list with one that is named "
            "'default'");
  EXPECT_EQ(message_of([&] {
              text_of({{"tokenizer_config.json", "["}});
            }),
            "[tokenizer] M/tokenizer_config.json: not a JSON object");
  EXPECT_EQ(message_of([&] {
              text_of({{"chat_template.jinja", "{{"}});
            }),
            "[template] M/chat_template.jinja:1:1: a tag without end, expected }}");
  NamedFiles files = {{"tokenizer_config.json", R"({"eos_token": "E"})"}};
  add_default_chat_template(files, "M", false);
  EXPECT_EQ(text_of(files), "<|im_start|>user\nxE\n");
  add_default_chat_template(files, "M", true);
  EXPECT_EQ(text_of(files), "<|im_start|>user\nx<|im_end|>\n");
}

TrainedTokenizer trained(LmTokenizerKind kind) {
  std::vector<std::string> lines = {"Hello there, how are you today?\nFine.", "고양이가 쥐를 잡았다. 안녕하세요",
                                    "<|im_start|>system user assistant<|im_end|>\n"};
  if (kind != LmTokenizerKind::kChar) lines.pop_back();  // characters alone must know those of the marks
  size_t at = 0;
  LmTokenizerConfig config{.kind = kind, .pieces = {}, .chat = true};
  config.pieces.vocabulary = kind == LmTokenizerKind::kBpe ? 262 : kind == LmTokenizerKind::kSentencePiece ? 320 : 0;
  return train_lm_tokenizer(config, [&](std::string& line) {
    if (at == lines.size()) return false;
    line = lines[at++];
    return true;
  });
}

// Of every kind that heed trains: the answers, with their ends and nothing else.
TEST(ChatIds, AnswersAloneAreLearnedFrom) {
  const Conversation talk = {
      {"user", "how are you"}, {"assistant", "Fine, 안녕"}, {"user", "Hello"}, {"assistant", "you?"}};
  for (const LmTokenizerKind kind :
       {LmTokenizerKind::kBpe, LmTokenizerKind::kSentencePiece, LmTokenizerKind::kChar, LmTokenizerKind::kByte}) {
    const TrainedTokenizer made = trained(kind);
    const Tokenizer& tokenizer = *made.tokenizer;
    const auto chat = read_chat_template(made.files, "new");
    ASSERT_TRUE(chat);
    const bool marks = kind == LmTokenizerKind::kBpe || kind == LmTokenizerKind::kSentencePiece;
    const ChatEnd end = chat_end(tokenizer, *chat);
    EXPECT_EQ(end.id >= 0, marks);
    EXPECT_EQ(end.text, marks ? "" : "<|im_end|>");
    if (marks) {
      EXPECT_EQ(tokenizer.encode("<|im_start|>").size(), 1u);
      EXPECT_EQ(tokenizer.encode("<|im_end|>"), std::vector<int32_t>{end.id});
      EXPECT_EQ(tokenizer.special().eos, end.id);
      EXPECT_EQ(tokenizer.special().bos, -1);
    }
    const ChatIds ids = chat_ids(tokenizer, *chat, talk);
    EXPECT_EQ(ids.ids, tokenizer.encode(chat->render(talk, false)));
    EXPECT_EQ(ids.ids[0], chat_start(tokenizer, *chat));
    std::vector<int32_t> learned;
    for (size_t i = 0; i < ids.ids.size(); ++i) {
      if (ids.answers[i]) learned.push_back(ids.ids[i]);
    }
    EXPECT_EQ(tokenizer.decode(learned), marks ? "Fine, 안녕you?" : "Fine, 안녕<|im_end|>you?<|im_end|>");
    EXPECT_EQ(std::count(learned.begin(), learned.end(), end.id), marks ? 2 : 0);
    EXPECT_EQ(ids.answer_bytes, static_cast<int64_t>(std::string("Fine, 안녕<|im_end|>you?<|im_end|>").size()));
  }
}

// Counts what is read of it.
class CountingTokenizer final : public Tokenizer {
 public:
  explicit CountingTokenizer(const Tokenizer& tokenizer) : tokenizer_(tokenizer) {}
  std::vector<int32_t> encode(std::string_view text) const override {
    read += text.size();
    return tokenizer_.encode(text);
  }
  std::string decode(std::span<const int32_t> ids) const override { return tokenizer_.decode(ids); }
  std::string piece(int32_t id) const override { return tokenizer_.piece(id); }
  std::string bytes(int32_t id) const override { return tokenizer_.bytes(id); }
  int64_t size() const override { return tokenizer_.size(); }
  SpecialIds special() const override { return tokenizer_.special(); }
  mutable size_t read = 0;

 private:
  const Tokenizer& tokenizer_;
};

Conversation long_talk(size_t turns) {
  Conversation talk;
  for (size_t i = 0; i < turns; ++i) {
    talk.push_back({"user", "Tell me of number " + std::to_string(i) + ", isn't it?"});
    talk.push_back({"assistant", " It's " + std::to_string(i * 7) + ".\n"});
  }
  return talk;
}

// The ids up to a border are those of the text up to there, whatever the tokenizer; and the text is read once.
TEST(ChatIds, ALongConversationIsReadOnce) {
  const Conversation talk = long_talk(40);
  const ChatTemplate chat = chatml();
  const std::string whole = chat.render(talk, false);
  int kinds = 0;
  for (const auto& folder : std::filesystem::directory_iterator(HEED_SOURCE_DIR "/tests/golden/language_tokenizers")) {
    SCOPED_TRACE(folder.path().filename().string());
    const auto theirs = load_tokenizer(folder.path().string());
    const CountingTokenizer tokenizer(*theirs);
    const ChatIds made = chat_ids(tokenizer, chat, talk);
    const bool spelled = folder.path().filename() != "llama_metaspace";  // its bytes are written as numbers
    EXPECT_EQ(tokenizer.read == whole.size(), spelled) << tokenizer.read;
    std::vector<bool> expected(made.ids.size());
    for (const ChatTemplate::Part& part : chat.answers(talk, whole)) {
      const auto before = theirs->encode(whole.substr(0, part.begin)), with = theirs->encode(whole.substr(0, part.end));
      const auto same = [&](const std::vector<int32_t>& start) {
        return std::mismatch(start.begin(), start.end(), made.ids.begin(), made.ids.end()).first - start.begin();
      };
      const auto end = same(with) + (same(with) < static_cast<int64_t>(with.size()));
      for (int64_t i = same(before); i < end; ++i) expected[static_cast<size_t>(i)] = true;
    }
    EXPECT_EQ(made.answers, expected);
    ++kinds;
  }
  EXPECT_GE(kinds, 8);
}

// A megabyte of turns without a word is refused before anything of it is rendered; what is allowed shares one budget.
TEST(ChatIds, ManyTurnsHaveABound) {
  const ChatTemplate chat = chatml();
  Conversation talk;
  for (int i = 0; i < 18000; ++i) talk.push_back({"user", ""}), talk.push_back({"assistant", ""});
  Template::Limits left{.steps = 1000, .bytes = 1000};
  EXPECT_EQ(message_of([&] { chat.answers(talk, "", left); }),
            "[chat] 18000 answers in 36000 messages: to find them 648018000 messages are rendered, expected at most "
            "1000000");
  EXPECT_EQ(left.steps, 1000);
  talk.resize(1000);
  const std::string whole = chat.render(talk, false);
  left = {.steps = 100'000'000, .bytes = int64_t{4} << 30};
  EXPECT_EQ(chat.answers(talk, whole, left).size(), 500u);
  const Template::Limits used{100'000'000 - left.steps, (int64_t{4} << 30) - left.bytes};
  EXPECT_GT(used.steps, 500'000);  // a message each
  left = {.steps = used.steps / 2, .bytes = used.bytes};
  EXPECT_NE(message_of([&] { chat.answers(talk, whole, left); }).find("too many steps"), std::string::npos);
  left = {.steps = used.steps, .bytes = used.bytes / 2};
  EXPECT_NE(message_of([&] { chat.answers(talk, whole, left); }).find("too much text"), std::string::npos);
}

// Where ids do not spell their text, borders are found by reading it again: a bound for that, too.
TEST(ChatIds, ATextThatIsRewrittenHasABound) {
  const auto tokenizer = load_tokenizer(HEED_SOURCE_DIR "/tests/golden/language_tokenizers/qwen2");  // composes
  const ChatTemplate chat = chatml();
  Conversation talk = {{"user", "e\u0301"}, {"assistant", "e\u0301 e"}};
  const ChatIds made = chat_ids(*tokenizer, chat, talk);
  std::vector<int32_t> learned;
  for (size_t i = 0; i < made.ids.size(); ++i) {
    if (made.answers[i]) learned.push_back(made.ids[i]);
  }
  EXPECT_EQ(tokenizer->decode(learned), "\u00E9 e<|im_end|>");
  const auto letters = read_char_tokenizer(char_files(U"ab").front().second, "F");
  talk = long_talk(650);
  EXPECT_EQ(message_of([&] { chat_ids(*letters, chat, talk); }),
            "[chat] 67980 bytes that the tokenizer rewrites: to find the answers 33586107 are read again, expected at "
            "most 33554432");
  talk.resize(200);
  EXPECT_EQ(message_of([&] { chat_ids(*letters, chat, talk); }), "no error");
}

TEST(ChatIds, WithoutAnEndMarkEosEndsTheConversation) {
  const auto tokenizer = byte_tokenizer();
  const ChatTemplate chat(
      "{% for m in messages %}{{ m.role ~ ':' ~ m.content }}{% endfor %}{{ 'assistant:' if add_generation_prompt }}",
      {}, "T");
  const ChatIds ids = chat_ids(*tokenizer, chat, {{"user", "a"}, {"assistant", "b"}});
  EXPECT_EQ(ids.ids.back(), tokenizer->special().eos);
  EXPECT_TRUE(ids.answers.back());
  EXPECT_EQ(std::count(ids.answers.begin(), ids.answers.end(), true), 2);
  EXPECT_EQ(chat_start(*tokenizer, chat), -1);  // "u", or "s" of a system's message
  EXPECT_FALSE(chat_ids(*tokenizer, chat, {{"user", "a"}}).answers.back());
}

}  // namespace
}  // namespace heed::text
