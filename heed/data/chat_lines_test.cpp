#include "heed/data/chat_lines.h"

#include <gtest/gtest.h>

#include "heed/base/error.h"
#include "heed/data/text_store.h"
#include "heed/io/test_files.h"
#include "heed/text/chat_ids.h"
#include "heed/text/tokenizer_files.h"

namespace heed::data {
namespace {

std::string shown(const ChatLine& line) {
  std::string text;
  for (const text::Message& m : line.messages) text += m.role + ":" + m.content + ";";
  return line.problem.empty() ? text : line.problem + ": " + line.detail;
}

TEST(ChatLines, KindsOfLines) {
  const std::pair<const char*, const char*> cases[] = {
      {R"({"messages":[{"role":"system","content":"s"},{"role":"user","content":"왜"},{"role":"assistant","content":""}]})",
       "system:s;user:왜;assistant:;"},
      {R"({"prompt":"a","completion":"b","id":3})", "user:a;assistant:b;"},
      {R"({"instruction":"a","input":"x","output":"b"})", "user:a\n\nx;assistant:b;"},
      {R"({"instruction":"a","input":"","output":"b"})", "user:a;assistant:b;"},
      {R"({"instruction":"a","output":"b"})", "user:a;assistant:b;"},
      {R"({"messages":[{"role":"user")", "no JSON: wrong at byte 28"},
      {"", "no JSON: wrong at byte 1"},
      {"{\"a\":\"\xff\"}", "no JSON: wrong at byte 7"},
      {R"({"prompt":"a","completion":"b","id":1e999})", "no JSON: a number beyond what a double holds"},
      {"[1]", "no JSON object: found array"},
      {"{}", "without messages: found none of 'messages', 'prompt', 'instruction'"},
      {R"({"messages":[]})", "without messages: 'messages' is no list of them"},
      {R"({"messages":3})", "without messages: 'messages' is no list of them"},
      {R"({"messages":[{"role":"user","content":"a"}]})", "without an answer: no message of the assistant"},
      {R"({"messages":[{"role":"user","content":"a"},{"role":"tool","content":"b"}]})",
       "an unknown role: message 2 has 'tool'"},
      {R"({"messages":[{"role":"user"}]})", "a message without role or content: message 1"},
      {R"({"messages":["a"]})", "a message without role or content: message 1"},
      {R"({"messages":[{"role":"user","content":["a"]}]})", "a message without role or content: message 1"},
      {R"({"prompt":"a"})", "without messages: 'completion' is no text"},
      {R"({"instruction":1,"output":"b"})", "without messages: 'instruction' is no text"},
  };
  for (const auto& [line, expected] : cases) EXPECT_EQ(shown(read_chat_line(line)), expected) << line;
}

class ChatStore : public testing::Test {
 protected:
  TextStoreReport build(const std::string& lines, BadChatLines& bad, const text::ChatTemplate& chat, int32_t start) {
    put_content(folder_.file("a.jsonl"), lines);
    TextCorpus corpus({.files = {folder_.file("a.jsonl")}, .documents = Documents::kLine});
    const TextStoreReport report = build_chat_store(folder_.file("ids"), corpus, {*tokenizer_, chat, start}, bad);
    store_ = TextStore::open(folder_.file("ids"));
    return report;
  }
  std::string text_of(bool answers) const {
    std::vector<int32_t> ids;
    for (const int32_t id : store_.ids()) {
      if ((id >= 0) == answers) ids.push_back(id_of(id));
    }
    return tokenizer_->decode(ids);
  }

  TemporaryFolder folder_;
  std::shared_ptr<const text::Tokenizer> tokenizer_ = text::byte_tokenizer();
  TextStore store_;
};

TEST_F(ChatStore, OnlyAnswersAreLabels) {
  const text::ChatTemplate chat(text::default_chat_template(false), {}, "T");
  BadChatLines bad(BadLines::kSkip);
  const int32_t start = text::chat_start(*tokenizer_, chat);
  build("{\"prompt\":\"Hi\",\"completion\":\"Hello\"}\nno\n{\"prompt\":\"왜\",\"completion\":\"그래서\"}\n{}\n", bad,
        chat, start);
  EXPECT_EQ(store_.documents(), 2);
  EXPECT_TRUE(store_.intact());
  EXPECT_EQ(text_of(true), "Hello<|im_end|>그래서<|im_end|>");
  // The "<" that each begins with is not stored: it is the start.
  EXPECT_EQ(tokenizer_->decode(std::vector{start}), "<");
  EXPECT_EQ(text_of(false),
            "|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n\n"
            "|im_start|>user\n왜<|im_end|>\n<|im_start|>assistant\n\n");
  EXPECT_EQ(store_.bytes(), static_cast<int64_t>(text_of(true).size()));
  const std::string file = folder_.file("a.jsonl");
  EXPECT_EQ(bad.text(), "1 no JSON (" + file + ":2), 1 without messages (" + file + ":4)");
  EXPECT_EQ(bad.count(), 2);
}

TEST_F(ChatStore, BadLinesAreRefusedWhereThatIsAskedFor) {
  const text::ChatTemplate chat(
      "{% for m in messages %}{% if m.role == 'system' %}{{ raise_exception('no system') }}"
      "{% endif %}{{ m.content }}{% endfor %}",
      {}, "T");
  const std::string system =
      R"({"messages":[{"role":"system","content":"s"},{"role":"user","content":"a"},{"role":"assistant","content":"b"}]})";
  const auto refusal = [&](const std::string& lines) {
    BadChatLines bad(BadLines::kRefuse);
    try {
      build(lines, bad, chat, -1);
    } catch (const FileError& error) {
      return std::string(error.what());
    }
    return std::string("none");
  };
  const std::string file = folder_.file("a.jsonl");
  EXPECT_EQ(refusal("{\"prompt\":\"a\",\"completion\":\"b\"}\n{\"x\"}"),
            "[corpus] " + file + ":2: no JSON: wrong at byte 5");
  EXPECT_EQ(refusal(system), "[corpus] " + file + ":1: refused by the template: [template] T:1:69: no system");
  BadChatLines bad(BadLines::kSkip);
  build(system + "\n{\"prompt\":\"a\",\"completion\":\"b\"}\n", bad, chat, -1);
  EXPECT_EQ(bad.text(), "1 refused by the template (" + file + ":1)");
  // Nothing ends an answer of this template: eos does.
  EXPECT_EQ(std::vector<int32_t>(store_.ids().begin(), store_.ids().end()),
            (std::vector<int32_t>{only_read(3 + 'a'), 3 + 'b', 0}));
}

}  // namespace
}  // namespace heed::data
