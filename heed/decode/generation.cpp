#include "heed/decode/generation.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include "heed/base/error.h"
#include "heed/base/threads.h"
#include "heed/kernels/top_k.h"

namespace heed::decode {
namespace {

// A start in common that is shorter is computed twice rather than waited for.
constexpr int64_t kWorthWaiting = 16;

bool contains(const std::vector<int32_t>& ids, int32_t id) {
  return std::find(ids.begin(), ids.end(), id) != ids.end();
}

// The last tokens that fit, behind the start where there is one.
std::vector<int32_t> last_tokens(const std::vector<int32_t>& tokens, int64_t most, int32_t start) {
  if (static_cast<int64_t>(tokens.size()) <= most) return tokens;
  std::vector<int32_t> last(tokens.end() - most, tokens.end());
  if (most > 1 && start >= 0 && tokens[0] == start) last[0] = start;
  return last;
}

}  // namespace

void GenerationSettings::check() const {
  sampling.check();
  if (max_tokens < 1) fail("[generate] {} tokens at most: expected at least 1", max_tokens);
  if (alternatives < 0 || alternatives > 1024) fail("[generate] {} alternatives: expected 0 to 1024", alternatives);
  if (beam > 1 && window) fail("[generate] a window with a beam of {}: a search does not forget, expected one", beam);
  SearchConfig{.beam = beam, .nbest = nbest, .length_penalty = length_penalty}.check();
}

const char* name_of(StopReason reason) {
  switch (reason) {
    case StopReason::kEnd:
      return "end";
    case StopReason::kLength:
      return "length";
    case StopReason::kStop:
      return "stop";
    case StopReason::kContext:
      return "context";
    case StopReason::kNoNumber:
      break;
  }
  return "no number";
}

GenerationIds generation_ids(const models::ModelConfig& config, int64_t known_ids) {
  GenerationIds ids{.start = config.tokens.start, .ends = config.tokens.more_ends};
  if (config.tokens.eos >= 0) ids.ends.push_back(config.tokens.eos);
  for (int64_t id = known_ids; known_ids > 0 && id < config.vocabulary; ++id) {
    ids.never.push_back(static_cast<int32_t>(id));
  }
  return ids;
}

int64_t context_length(const models::ModelConfig& config) { return config.decoder.positions.max_length; }

void check_length(std::span<const int32_t> prompt, const models::ModelConfig& config,
                  const GenerationSettings& settings, int64_t number) {
  const int64_t length = static_cast<int64_t>(prompt.size()), context = context_length(config);
  if (length <= context || settings.window) return;
  fail_file("[generate] prompt {} has {} tokens: the context of the model is {} (--window keeps their end)", number + 1,
            length, context);
}

Generation::Generation(const models::Decoder& model, const GenerationIds& ids, const GenerationLimits& limits)
    : model_(model),
      ids_(ids),
      limits_(limits),
      context_(context_length(model.config)),
      pool_(pool_for(model.config.decoder)),
      kept_(pool_, limits.kept_rows) {
  if (limits_.prompt_block < 1) fail("[generate] prompts by {} tokens: expected at least 1", limits_.prompt_block);
}

void Generation::check(const GenerationRequest& request) const {
  request.settings.check();
  const int64_t V = model_.config.vocabulary, length = static_cast<int64_t>(request.prompt.size());
  request.settings.sampling.check_ids(V);
  const int64_t number = request.number + 1;  // as people count
  if (length == 0) fail("[generate] prompt {} has no tokens: expected at least one", number);
  for (const int32_t id : request.prompt) {
    if (id < 0 || id >= V) fail("[generate] prompt {} has the id {}: expected 0 to {}", number, id, V - 1);
  }
  check_length(request.prompt, model_.config, request.settings, request.number);
  // Where nothing can be said, the numbers are not at fault.
  std::set<int32_t> banned(request.settings.sampling.ban.begin(), request.settings.sampling.ban.end());
  if (static_cast<int64_t>(banned.size() + ids_.never.size()) < V) return;
  banned.insert(ids_.never.begin(), ids_.never.end());
  if (static_cast<int64_t>(banned.size()) == V) fail("[generate] no token is allowed (--ban)");
}

void Generation::join(std::vector<GenerationRequest> requests) {
  for (const GenerationRequest& request : requests) check(request);
  for (GenerationRequest& request : requests) {
    Running& r = running_.emplace_back();
    r.branches.emplace_back().tokens = last_tokens(request.prompt, context_, ids_.start);
    const GenerationSettings& s = request.settings;
    if (s.beam > 1) {
      const int64_t room = std::min(s.max_tokens, context_ + 1 - static_cast<int64_t>(request.prompt.size()));
      const SearchConfig search{
          .beam = s.beam, .nbest = s.nbest, .length_penalty = s.length_penalty, .may_go_on = true};
      r.search.emplace(search, room, ids_.ends);
    }
    r.request = std::move(request);
  }
}

// The longest start that another sequence, running or done, has computed; the last token is always its own.
void Generation::share_start(Branch& branch) {
  std::span<const int32_t> best = kept_.find(branch.tokens);
  for (const Running& r : running_) {
    for (const Branch& other : r.branches) {
      if (&other == &branch || other.rows.size() <= best.size()) continue;
      const int64_t common = common_start(other.tokens, branch.tokens);
      const size_t known = std::min(static_cast<size_t>(common), other.rows.size());
      if (known > best.size()) best = std::span<const int32_t>(other.rows).first(known);
    }
  }
  best = best.first(std::min(best.size(), branch.tokens.size() - 1));
  if (best.size() <= branch.rows.size()) return;
  pool_.share(best);
  pool_.give(branch.rows);
  branch.rows.assign(best.begin(), best.end());
}

// Whether one that comes first in this step computes what this one needs next.
bool Generation::worth_waiting(const Branch& branch) const {
  for (const Running& r : running_) {
    for (const Branch& other : r.branches) {
      if (&other == &branch) return false;
      if (!other.planned) continue;
      const int64_t common =
          std::min(common_start(other.tokens, branch.tokens), static_cast<int64_t>(branch.tokens.size()) - 1);
      if (common - static_cast<int64_t>(branch.rows.size()) >= kWorthWaiting) return true;
    }
  }
  return false;
}

// Adds what this step computes of a branch; gives back how much of the room for prompts it took.
int64_t Generation::plan(StepRows& step, Running& r, Branch& branch, int64_t room) {
  if (branch.reading()) share_start(branch);
  const int64_t pending = static_cast<int64_t>(branch.tokens.size() - branch.rows.size());
  const bool prompt = pending > 1;
  const int64_t n = prompt ? std::min(pending, room) : pending;
  if (prompt && (n == 0 || worth_waiting(branch))) return 0;
  branch.planned = true;
  r.wanted = n == pending;
  step.add(branch.rows, std::span<const int32_t>(branch.tokens).subspan(branch.rows.size(), static_cast<size_t>(n)),
           r.wanted);
  return prompt ? n : 0;
}

Tensor Generation::next_logits() {
  StepRows step(pool_);
  for (Running& r : running_) {
    r.wanted = false;
    for (Branch& branch : r.branches) branch.planned = false;
  }
  int64_t room = limits_.prompt_block;
  for (Running& r : running_) {
    for (Branch& branch : r.branches) room -= plan(step, r, branch, room);
  }
  computed_ += step.tokens();
  const nn::StepCache cache{step.layers(), {}, {}};
  const Tensor hidden = model_.next_hidden(step.batch(), cache, {});  // (T, C)
  if (std::none_of(running_.begin(), running_.end(), [](const Running& r) { return r.wanted; })) return {};
  return linear(step.last_of_each(hidden), model_.output);
}

void Generation::forbid(std::span<float> logits) const {
  for (const int32_t id : ids_.never) logits[static_cast<size_t>(id)] = -std::numeric_limits<float>::infinity();
}

GeneratedToken Generation::choose(const Running& r, std::span<float> logits) const {
  const GenerationSettings& s = r.request.settings;
  const int64_t V = static_cast<int64_t>(logits.size()), k = std::min(s.alternatives, V);
  GeneratedToken token;
  std::vector<int32_t> ids(static_cast<size_t>(k));
  std::vector<float> log_probs(static_cast<size_t>(k));
  kernels::top_k({1, V, k, logits.data(), ids.data(), log_probs.data()});
  for (size_t i = 0; i < ids.size() && ids[i] >= 0; ++i) token.alternatives.push_back({ids[i], log_probs[i]});
  std::vector<float> own;  // the model's, where they are changed
  if (s.sampling.changes_logits() || !ids_.never.empty()) {
    own.assign(logits.begin(), logits.end());
    forbid(logits);
    change_logits(logits, s.sampling, {r.request.prompt, r.answer.ids});
  }
  const SampleKey key{s.sampling.seed, text_key(r.request.prompt), static_cast<uint32_t>(r.request.sample),
                      static_cast<uint32_t>(r.answer.ids.size())};
  token.chosen = sample_token(logits, s.sampling, key);
  if (token.chosen.id >= 0 && !own.empty()) token.chosen.log_prob = log_probability(own, token.chosen.id);
  return token;
}

void Generation::add_to_branch(Running& r, Branch& branch, int32_t id) {
  branch.tokens.push_back(id);
  if (static_cast<int64_t>(branch.tokens.size()) <= context_ || !r.request.settings.window) return;
  std::vector<int32_t> last = last_tokens(branch.tokens, std::max<int64_t>(1, context_ / 2), ids_.start);
  const size_t same = std::min(static_cast<size_t>(common_start(branch.tokens, last)), last.size() - 1);
  pool_.give(std::span<const int32_t>(branch.rows).subspan(same));
  branch.rows.resize(same);
  branch.tokens = std::move(last);
}

void Generation::add_token(Running& r, GeneratedToken token, const OnToken& on_token) {
  const auto end = [&r](StopReason reason) { r.answer.reason = reason, r.done = true; };
  const TokenChoice chosen = token.chosen;
  if (chosen.id < 0) {
    r.answer.log_probability = -std::numeric_limits<double>::infinity();
    return end(StopReason::kNoNumber);
  }
  r.answer.log_probability += double{chosen.log_prob};
  if (contains(ids_.ends, chosen.id)) return end(StopReason::kEnd);
  r.answer.ids.push_back(chosen.id);
  r.answer.tokens.push_back(std::move(token));
  if (on_token && !on_token(r.request, r.answer.tokens.back())) return end(StopReason::kStop);
  if (static_cast<int64_t>(r.answer.ids.size()) == r.request.settings.max_tokens) return end(StopReason::kLength);
  add_to_branch(r, r.branches[0], chosen.id);
  if (static_cast<int64_t>(r.branches[0].tokens.size()) > context_) end(StopReason::kContext);
}

// As in transformers, penalties and biases change log-probabilities here, and what they leave is not brought to a sum of 1
// again: hypotheses are compared as theirs are. Gives back the model's own.
std::vector<float> Generation::change_for_search(const Running& r, std::span<float> logits) const {
  const SamplingConfig& sampling = r.request.settings.sampling;
  if (!sampling.changes_logits() && ids_.never.empty()) return {};
  const size_t V = static_cast<size_t>(model_.config.vocabulary);
  for (size_t at = 0; at < logits.size(); at += V) {
    const float sum = log_sum_exp(logits.subspan(at, V));
    for (float& logit : logits.subspan(at, V)) logit -= sum;
  }
  std::vector<float> own(logits.begin(), logits.end());
  for (size_t h = 0; h < r.branches.size(); ++h) {
    const std::span<float> row = logits.subspan(h * V, V);
    forbid(row);
    change_logits(row, sampling, {r.request.prompt, r.search->live()[h].ids});
  }
  return own;
}

void Generation::search_on(Running& r, std::span<float> logits) {
  const int64_t V = model_.config.vocabulary, n = static_cast<int64_t>(r.branches.size());
  const int64_t k = std::min(V, BeamSearch::wanted_candidates({.beam = r.request.settings.beam}));
  std::vector<int32_t> ids(static_cast<size_t>(n * k));
  std::vector<float> log_probs(ids.size()), own_probs(ids.size());
  const std::vector<float> own = change_for_search(r, logits);
  kernels::top_k({n, V, k, logits.data(), ids.data(), log_probs.data()});
  for (size_t i = 0; !own.empty() && i < ids.size(); ++i) {
    if (ids[i] < 0) continue;
    const size_t at = i / static_cast<size_t>(k) * static_cast<size_t>(V) + static_cast<size_t>(ids[i]);
    log_probs[i] = logits[at], own_probs[i] = own[at];
  }
  std::vector<Candidates> candidates;
  for (size_t at = 0, each = static_cast<size_t>(k); at < ids.size(); at += each) {
    candidates.push_back({std::span(ids).subspan(at, each), std::span(log_probs).subspan(at, each), {}});
    if (!own.empty()) candidates.back().own = std::span(own_probs).subspan(at, each);
  }
  std::vector<Rows> before;
  std::vector<int64_t> parents;
  std::vector<Branch> next;
  for (const Branch& branch : r.branches) before.push_back(branch.rows);
  for (const Continuation& c : r.search->advance(candidates)) {
    parents.push_back(c.parent);
    next.push_back({r.branches[static_cast<size_t>(c.parent)].tokens, {}});
    next.back().tokens.push_back(c.token);
  }
  std::vector<Rows> after = branch_rows(pool_, before, parents);
  for (size_t i = 0; i < next.size(); ++i) next[i].rows = std::move(after[i]);
  r.branches = std::move(next);
  r.done = r.search->done();
}

GenerationAnswer Generation::leave(Running& r) {
  GenerationAnswer answer{r.request.number, r.request.sample, {}};
  for (Branch& branch : r.branches) kept_.keep(branch.tokens, std::move(branch.rows));
  if (!r.search) {
    r.answer.score = r.answer.log_probability;
    answer.best.push_back(std::move(r.answer));
    return answer;
  }
  for (Hypothesis& h : r.search->best()) {
    GeneratedIds one{.ids = std::move(h.ids), .tokens = {}, .log_probability = h.log_probability, .score = h.score};
    const bool whole = static_cast<int64_t>(one.ids.size()) == r.request.settings.max_tokens;
    one.reason = whole ? StopReason::kLength : StopReason::kContext;
    if (h.ended) one.reason = StopReason::kEnd;
    if (!std::isfinite(h.score)) one.reason = StopReason::kNoNumber;
    answer.best.push_back(std::move(one));
  }
  return answer;
}

std::vector<GenerationAnswer> Generation::step(const OnToken& on_token) {
  if (running_.empty()) return {};
  const NoGrad no_grad;
  const Tensor logits = next_logits();
  if (!logits) return {};
  const int64_t V = logits.cols();
  // Rows of the logits by sequence; those that are drawn from are chosen at once.
  std::vector<std::pair<Running*, int64_t>> wanted;
  int64_t row = 0;
  for (Running& r : running_) {
    if (!r.wanted) continue;
    wanted.emplace_back(&r, row);
    row += static_cast<int64_t>(r.branches.size());
  }
  std::vector<GeneratedToken> chosen(wanted.size());
  parallel_for(static_cast<int64_t>(wanted.size()), 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const auto& [r, first] = wanted[static_cast<size_t>(i)];
      if (r->search) continue;
      chosen[static_cast<size_t>(i)] = choose(*r, {logits.data() + first * V, static_cast<size_t>(V)});
    }
  });
  std::vector<GenerationAnswer> answers;
  for (size_t i = 0; i < wanted.size(); ++i) {
    const auto& [r, first] = wanted[i];
    if (r->search) {
      search_on(*r, {logits.data() + first * V, r->branches.size() * static_cast<size_t>(V)});
    } else {
      add_token(*r, std::move(chosen[i]), on_token);
    }
    if (r->done) answers.push_back(leave(*r));
  }
  std::erase_if(running_, [](const Running& r) { return r.done; });
  return answers;
}

}  // namespace heed::decode
