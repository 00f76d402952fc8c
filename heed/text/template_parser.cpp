#include <algorithm>

#include "heed/base/error.h"
#include "heed/io/printable.h"
#include "heed/text/template_reader.h"

namespace heed::text {
namespace {

using Statement = TemplateStatement;
using Body = std::vector<Statement>;

class Parser : private TemplateReader {
 public:
  Parser(std::string_view source, const std::string& label) : TemplateReader(source, label) {}

  Body run() {
    Body body = read_body({});
    if (now().kind != Kind::kEnd) unexpected("a block that begins something");
    return body;
  }

 private:
  void end_block() {
    if (now().kind != Kind::kBlockEnd) unexpected("'%}'");
    ++at_;
  }

  // Up to a block that begins with one of `ends`, which is left to the caller, or to the end.
  Body read_body(std::initializer_list<std::string_view> ends) {
    const Deeper deeper(*this);
    Body body;
    while (now().kind != Kind::kEnd) {
      const Place place = now().place;
      if (now().kind == Kind::kText) {
        body.push_back({Statement::Kind::kText, place, tokens_[at_++].text});
      } else if (now().kind == Kind::kPrintBegin) {
        ++at_;
        body.push_back({Statement::Kind::kPrint, place});
        body.back().expressions.push_back(read_tuple());
        if (now().kind != Kind::kPrintEnd) unexpected("'}}'");
        ++at_;
      } else {
        const std::string& word = next().text;
        if (next().kind == Kind::kName && std::find(ends.begin(), ends.end(), word) != ends.end()) return body;
        ++at_;
        body.push_back(read_block(place));
      }
    }
    return body;
  }

  Statement read_block(Place place) {
    const std::string word = need_name();
    if (word == "if") return read_if(place);
    if (word == "for") return read_for(place);
    if (word == "set") return read_set(place);
    if (word == "generation") {
      Statement block{Statement::Kind::kBlock, place};
      end_block();
      block.bodies.push_back(read_body({"endgeneration"}));
      end_of("generation", place);
      return block;
    }
    if (word == "break" || word == "continue") {
      if (loops_ == 0) wrong(place, fmt::format("'{}' outside of a loop", word));
      end_block();
      return {word == "break" ? Statement::Kind::kBreak : Statement::Kind::kContinue, place};
    }
    if (word.starts_with("end") || word == "else" || word == "elif")
      wrong(place, in_quotes(word) + " that ends nothing");
    wrong(place, fmt::format("a block {}, expected one of for, if, set, break, continue, generation", in_quotes(word)));
  }

  // "{% endfor %}"
  void end_of(const char* what, Place begin) {
    if (now().kind == Kind::kEnd) wrong(begin, fmt::format("'{}' without 'end{}'", what, what));
    ++at_;
    need_word(fmt::format("end{}", what).c_str());
    end_block();
  }

  Statement read_if(Place place) {
    Statement s{Statement::Kind::kIf, place};
    s.expressions.push_back(read_tuple());
    end_block();
    s.bodies.push_back(read_body({"elif", "else", "endif"}));
    while (now().kind == Kind::kBlockBegin && next().text != "endif") {
      ++at_;
      if (take_word("elif")) {
        s.expressions.push_back(read_tuple());
        end_block();
        s.bodies.push_back(read_body({"elif", "else", "endif"}));
        continue;
      }
      need_word("else");
      end_block();
      s.bodies.push_back(read_body({"endif"}));
      break;
    }
    end_of("if", place);
    return s;
  }

  Statement read_for(Place place) {
    Statement s{Statement::Kind::kFor, place};
    do s.names.push_back(need_name());
    while (take_sign(","));
    need_word("in");
    s.expressions.push_back(read_or());
    if (take_word("if")) s.expressions.push_back(read_expression());
    end_block();
    ++loops_;
    s.bodies.push_back(read_body({"else", "endfor"}));
    --loops_;
    if (next().text == "else") {
      ++at_, need_word("else"), end_block();
      s.bodies.push_back(read_body({"endfor"}));
    }
    end_of("for", place);
    return s;
  }

  Statement read_set(Place place) {
    Statement s{Statement::Kind::kSet, place};
    s.names.push_back(need_name());
    if (take_sign(".")) s.names.push_back(need_name());
    if (take_sign("=")) {
      s.expressions.push_back(read_tuple());
      end_block();
      return s;
    }
    if (s.names.size() > 1) unexpected("'='");
    end_block();
    s.bodies.push_back(read_body({"endset"}));
    end_of("set", place);
    return s;
  }

  int loops_ = 0;
};

}  // namespace

std::vector<TemplateStatement> parse_template(std::string_view source, const std::string& label) {
  return Parser(source, label).run();
}

}  // namespace heed::text
