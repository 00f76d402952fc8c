#include "heed/text/template.h"

#include <algorithm>

#include "heed/base/error.h"
#include "heed/io/printable.h"
#include "heed/text/template_evaluator.h"
#include "heed/text/unicode.h"

namespace heed::text {
namespace {

using Statement = TemplateStatement;
using Body = std::vector<Statement>;

class Renderer : private TemplateEvaluator {
 public:
  Renderer(const std::string& label, const ValueDict& variables, Template::Limits& left)
      : TemplateEvaluator({label, left.steps, left.bytes}, variables), left_(left) {}
  ~Renderer() { left_ = {work_.steps_left, work_.bytes_left}; }
  Renderer(const Renderer&) = delete;
  Renderer& operator=(const Renderer&) = delete;

  std::string render(const Body& body) {
    run(body);
    return std::move(out_);
  }

 private:
  enum class Flow { kOn, kBreak, kContinue };

  Flow run(const Body& body) {
    for (const Statement& statement : body) {
      work_.at = statement.place;
      work_.step();
      if (const Flow flow = run(statement); flow != Flow::kOn) return flow;
    }
    return Flow::kOn;
  }

  Flow run(const Statement& s) {
    switch (s.kind) {
      case Statement::Kind::kText:
        write(s.text);
        break;
      case Statement::Kind::kPrint:
        write(work_.written(value(*s.expressions[0])));
        break;
      case Statement::Kind::kIf:
        return run_if(s);
      case Statement::Kind::kFor:
        return run_for(s);
      case Statement::Kind::kSet:
        set(s);
        break;
      case Statement::Kind::kBlock:
        return run(s.bodies[0]);
      case Statement::Kind::kBreak:
        return Flow::kBreak;
      case Statement::Kind::kContinue:
        return Flow::kContinue;
    }
    return Flow::kOn;
  }

  void write(const std::string& text) {
    work_.pay(text.size());
    out_ += text;
  }

  Flow run_if(const Statement& s) {
    for (size_t i = 0; i < s.expressions.size(); ++i) {
      if (value(*s.expressions[i]).truth()) return run(s.bodies[i]);
    }
    return s.bodies.size() > s.expressions.size() ? run(s.bodies.back()) : Flow::kOn;
  }

  // The names of a loop: one is the item, several are its parts.
  void name_item(const Statement& s, const Value& item) {
    if (s.names.size() == 1) return assign(scopes_.back(), s.names[0], item);
    const ValueList parts = work_.items_of(item);
    if (parts.size() != s.names.size())
      work_.wrong(fmt::format("an item of {} parts, expected {}", parts.size(), s.names.size()));
    for (size_t i = 0; i < parts.size(); ++i) assign(scopes_.back(), s.names[i], parts[i]);
  }

  Value loop_of(const ValueList& items, size_t i) {
    const auto whole = [](size_t n) { return Value{static_cast<int64_t>(n)}; };
    const size_t n = items.size();
    return work_.dict({{"index", whole(i + 1)},
                       {"index0", whole(i)},
                       {"revindex", whole(n - i)},
                       {"revindex0", whole(n - i - 1)},
                       {"first", {i == 0}},
                       {"last", {i + 1 == n}},
                       {"length", whole(n)},
                       {"previtem", i > 0 ? items[i - 1] : Value::undefined("loop.previtem")},
                       {"nextitem", i + 1 < n ? items[i + 1] : Value::undefined("loop.nextitem")}});
  }

  Flow run_for(const Statement& s) {
    ValueList items = work_.items_of(value(*s.expressions[0]));
    if (s.expressions.size() > 1) {
      std::erase_if(items, [&](const Value& item) {
        scopes_.emplace_back();
        name_item(s, item);
        const bool kept = value(*s.expressions[1]).truth();
        scopes_.pop_back();
        return !kept;
      });
    }
    if (items.empty()) return s.bodies.size() > 1 ? run(s.bodies[1]) : Flow::kOn;
    // What is set in a round is forgotten with it.
    for (size_t i = 0; i < items.size(); ++i) {
      scopes_.emplace_back();
      name_item(s, items[i]);
      assign(scopes_.back(), "loop", loop_of(items, i));
      const Flow flow = run(s.bodies[0]);
      scopes_.pop_back();
      if (flow == Flow::kBreak) break;
    }
    return Flow::kOn;
  }

  void set(const Statement& s) {
    Value made;
    if (!s.expressions.empty()) {
      made = value(*s.expressions[0]);
    } else {
      std::string before;
      std::swap(before, out_);
      run(s.bodies[0]);
      std::swap(before, out_);
      made = work_.text(std::move(before));
    }
    work_.at = s.place;
    if (s.names.size() == 1) {
      work_.pay(s.names[0].size() + sizeof(Value));
      return assign(scopes_.back(), s.names[0], std::move(made));
    }
    const Value space = look_up(s.names[0]);
    const auto* found = std::get_if<std::shared_ptr<Value::Namespace>>(&space.data);
    if (!found) work_.wrong(fmt::format("{} is {}, expected a namespace", in_quotes(s.names[0]), space.kind()));
    if (made.is<std::shared_ptr<Value::Namespace>>()) work_.wrong("a namespace in a namespace, which heed does not do");
    work_.pay(s.names[1].size() + sizeof(Value));
    Value::Dict& values = (*found)->values;
    values.depth = std::max(values.depth, made.depth() + 1);
    assign(values.items, s.names[1], std::move(made));
  }

  std::string out_;
  Template::Limits& left_;
};

}  // namespace

Template::Template(std::string_view source, std::string label) : label_(std::move(label)) {
  constexpr size_t kMostBytes = size_t{1} << 20;
  if (source.size() > kMostBytes)
    fail_file("[template] {}: {} bytes, expected at most {}", label_, source.size(), kMostBytes);
  body_ = std::make_shared<const Body>(parse_template(replace_invalid(source), label_));
}

std::string Template::render(const ValueDict& variables, Limits& left) const {
  return Renderer(label_, variables, left).render(*body_);
}

}  // namespace heed::text
