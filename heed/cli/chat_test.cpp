// From conversations to a model that talks: heed train lm --chat, heed generate --chat.
#include "heed/cli/trained_test.h"

namespace heed::cli {
namespace {

class ChatProgram : public Program {
 protected:
  std::string talks() {
    std::string lines;
    for (int i = 0; i < 40; ++i) {
      const json talk = {{"messages",
                          {{{"role", "user"}, {"content", "ping"}},
                           {{"role", "assistant"}, {"content", "퐁 pong"}},
                           {{"role", "user"}, {"content", "pang"}},
                           {{"role", "assistant"}, {"content", "peng"}}}}};
      lines += talk.dump() + "\n" + json{{"prompt", "pang"}, {"completion", "peng"}}.dump() + "\n" +
               json{{"prompt", "ping"}, {"completion", "퐁 pong"}}.dump() + "\n";
    }
    return file("talk.jsonl", lines);
  }
  Outcome train(const std::string& lines, const std::string& steps) {
    return run({"train",     "lm", "--chat",          lines,  "--out",          model_, "--preset",    "tiny",
                "--layers",  "1",  "--d-model",       "32",   "--heads",        "2",    "--context",   "96",
                "--dropout", "0",  "--learning-rate", "0.01", "--batch-tokens", "512",  "--max-steps", steps});
  }
  Outcome talk(const std::string& input, std::vector<std::string> more) {
    more.insert(more.begin(), {"generate", model_, "--chat", "--temperature", "0", "--max-tokens", "20"});
    return run_with(input, more);
  }

  std::string model_;
  void SetUp() override {
    Program::SetUp();
    model_ = (folder_ / "model").string();
  }
};

TEST_F(ChatProgram, LearnsFromConversationsAndTalks) {
  const Outcome trained = train(talks(), "150");
  ASSERT_EQ(trained.status, 0) << trained.err;
  const json settings = json::parse(read_all(model_ + "/tokenizer_config.json"));
  EXPECT_EQ(settings["eos_token"], "<|im_end|>");
  EXPECT_NE(settings["chat_template"].get<std::string>().find("<|im_start|>"), std::string::npos);
  const std::string config = read_all(model_ + "/train.toml");
  EXPECT_NE(config.find("pack = false"), std::string::npos) << config;

  EXPECT_EQ(trained.err.find("unknown"), std::string::npos) << trained.err;
  const Outcome answers = talk("ping\npang\n\nnot reached\n", {});
  EXPECT_EQ(answers.status, 0) << answers.err;
  EXPECT_EQ(answers.out, "퐁 pong\npeng\n");
  EXPECT_EQ(answers.err, "heed: each line is answered; an empty one ends\n");
  EXPECT_EQ(talk("", {"--prompt", "ping", "--quiet"}).out, "퐁 pong\n");
  const Outcome as_json = talk("ping\npang\n", {"--json", "--quiet", "--system", "Be brief."});
  const std::vector<std::string> lines = lines_of(as_json.out);
  ASSERT_EQ(lines.size(), 2u) << as_json.err;
  EXPECT_EQ(json::parse(lines[1])["texts"][0]["reason"], "end");
  // The second prompt has the first, its answer and the next question.
  EXPECT_GT(json::parse(lines[1])["prompt_tokens"], json::parse(lines[0])["prompt_tokens"]);
}

TEST_F(ChatProgram, TheContextIsRefusedOrForgotten) {
  ASSERT_EQ(train(talks(), "5").status, 0);
  std::string lines;
  for (int i = 0; i < 20; ++i) lines += "ping pang ping\n";
  const Outcome refused = talk(lines, {"--quiet"});
  EXPECT_EQ(refused.status, 1);
  EXPECT_NE(refused.err.find("[chat] the conversation has "), std::string::npos) << refused.err;
  EXPECT_NE(refused.err.find(" tokens: the context of the model is 96 (--window"), std::string::npos) << refused.err;
  const Outcome forgets = talk(lines, {"--window"});
  EXPECT_EQ(forgets.status, 0) << forgets.err;
  EXPECT_NE(forgets.err.find(" oldest messages were forgotten"), std::string::npos) << forgets.err;
}

TEST_F(ChatProgram, WrongRequests) {
  const auto wrong = [&](const std::vector<std::string>& words, int status, const std::string& part) {
    const Outcome outcome = run_with("a\n", words);
    EXPECT_EQ(outcome.status, status) << outcome.err;
    EXPECT_NE(outcome.err.find(part), std::string::npos) << "found: " << outcome.err << "expected: " << part;
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
  };
  for (const char* flag : {"--interactive", "--ids"})
    wrong({"generate", "M", "--chat", flag}, 2, std::string(flag) + " with --chat: expected one of them");
  for (const char* flag : {"--samples", "--beam", "--logprobs"})
    wrong({"generate", "M", "--chat", flag, "2"}, 2, std::string(flag) + " with --chat: expected one of them");
  wrong({"generate", "M", "--system", "x"}, 2, "--system without --chat");
  const std::string bad = file("bad.jsonl", "{\"messages\": []}\n");
  wrong({"train", "lm", "--chat", bad, "--out", model_, "--quiet"}, 1, "no text to train with");
  wrong({"train", "lm", "--chat", bad, "--bad-lines", "refuse", "--out", model_, "--quiet"}, 1,
        "bad.jsonl:1: without messages: 'messages' is no list of them");
  wrong({"train", "lm", "--chat", bad, "--text", bad, "--out", model_}, 2, "both data.text and data.chat");
  wrong({"train", "lm", "--chat", file("none.d", "") + "/x", "--out", model_, "--quiet"}, 1, "none.d/x");
  EXPECT_FALSE(fs::exists(model_));
}

TEST_F(ChatProgram, AModelWithoutATemplateIsToldAndABrokenOneIsRefused) {
  ASSERT_EQ(train(talks(), "5").status, 0);
  json settings = json::parse(read_all(model_ + "/tokenizer_config.json"));
  settings.erase("chat_template");
  std::ofstream(model_ + "/tokenizer_config.json") << settings.dump();
  const Outcome told = talk("ping\n", {});
  EXPECT_EQ(told.status, 0) << told.err;
  EXPECT_NE(told.err.find("has no chat template: heed's own is used, its marks as plain text\n"), std::string::npos);
  std::ofstream(model_ + "/chat_template.jinja") << "{% for m in messages %}\n{{ m.content | shout }}{% endfor %}";
  const Outcome broken = talk("ping\n", {"--quiet"});
  EXPECT_EQ(broken.status, 1);
  EXPECT_EQ(broken.err,
            "heed: [template] " + model_ + "/chat_template.jinja:2:14: a filter that heed does not know: 'shout'\n");
  std::ofstream(model_ + "/chat_template.jinja") << "{{ raise_exception('not today') }}";
  const Outcome refused = talk("ping\n", {"--quiet"});
  EXPECT_EQ(refused.status, 1);
  EXPECT_NE(refused.err.find("chat_template.jinja:1:19: not today"), std::string::npos) << refused.err;
}

}  // namespace
}  // namespace heed::cli
