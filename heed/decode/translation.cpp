#include "heed/decode/translation.h"

#include <algorithm>
#include <limits>

#include "heed/base/error.h"
#include "heed/decode/sampling.h"
#include "heed/kernels/top_k.h"

namespace heed::decode {

Translation::Translation(const models::EncoderDecoder& model, const SearchConfig& config, const DecodeIds& ids)
    : model_(model),
      config_(config),
      ids_(ids),
      self_(pool_for(model.config.decoder)),
      cross_(pool_for(model.config.decoder)) {
  config_.check();
}

int64_t Translation::hypotheses() const {
  int64_t n = 0;
  for (const Running& r : running_) n += static_cast<int64_t>(r.next.size());
  return n;
}

void Translation::join(const std::vector<Request>& requests) {
  if (requests.empty()) return;
  const NoGrad no_grad;
  models::TokenBatch source;
  std::vector<int64_t> lengths;
  for (const Request& request : requests) {
    if (request.source.empty())
      fail("[translate] sentence {} has no tokens, expected at least its end", request.number);
    append(source.ids, request.source);
    lengths.push_back(static_cast<int64_t>(request.source.size()));
  }
  source.spans = Spans(lengths);
  const Tensor memory = model_.encode(source, {});  // (T, C)
  nn::CacheRows rows;
  rows.added = cross_.take(source.spans.tokens());
  const std::vector<nn::LayerCache> layers = cross_.layers(rows);
  for (size_t i = 0; i < layers.size(); ++i) model_.decoder.blocks[i].cross_attn.remember(memory, layers[i]);

  auto row = rows.added.begin();
  for (const Request& request : requests) {
    const int64_t tokens = static_cast<int64_t>(request.source.size());
    Rows start{ids_.start};
    append(start, request.prefix);
    const int64_t room = longest_sequence(model_.config.decoder) - static_cast<int64_t>(request.prefix.size());
    const int64_t limit = std::max<int64_t>(1, std::min(config_.limit(tokens), room));
    running_.push_back({request, BeamSearch(config_, limit, {ids_.eos}), {row, row + tokens}, {{}}, {start}});
    row += tokens;
  }
}

// Rows are taken and listed hypothesis by hypothesis; those of a sentence stand together and look at one memory.
Tensor Translation::next_logits() {
  StepRows step(self_);
  std::vector<int64_t> queries, memories;
  Rows cross_rows;
  for (Running& r : running_) {
    const int64_t before = step.tokens();
    for (size_t h = 0; h < r.next.size(); ++h) step.add(r.past[h], r.next[h]);
    queries.push_back(step.tokens() - before);
    memories.push_back(static_cast<int64_t>(r.memory.size()));
    append(cross_rows, r.memory);
  }
  nn::CacheRows cross;
  cross.seen = Spans(memories);
  cross.where = std::make_shared<const Rows>(std::move(cross_rows));
  const nn::StepCache cache{step.layers(), cross_.layers(cross), Spans(queries)};
  const Tensor hidden = step.last_of_each(model_.next_hidden(step.batch(), cache, {}));  // (hypotheses, C)
  return linear(hidden, model_.output);                                                  // (hypotheses, V)
}

Translation::Choices Translation::choose(const Tensor& logits) const {
  const int64_t V = logits.cols(), n = logits.rows();
  for (const int32_t id : ids_.never) {
    for (int64_t h = 0; h < n && id < V; ++h) logits.data()[h * V + id] = -std::numeric_limits<float>::infinity();
  }
  Choices choices{config_.sample ? 1 : std::min(V, BeamSearch::wanted_candidates(config_)), {}, {}};
  choices.ids.resize(static_cast<size_t>(n * choices.k));
  choices.log_probs.resize(choices.ids.size());
  if (!config_.sample) {
    kernels::top_k({n, V, choices.k, logits.data(), choices.ids.data(), choices.log_probs.data()});
    return choices;
  }
  parallel_for(n, 1, [&](int64_t begin, int64_t end) {
    for (int64_t h = begin; h < end; ++h) {
      const Running& r = running_[static_cast<size_t>(h)];  // one hypothesis a sentence
      const SampleKey key{config_.sampling.seed, text_key(r.request.source), static_cast<uint32_t>(r.request.sample),
                          static_cast<uint32_t>(r.past[0].size())};
      const std::span<float> row(logits.data() + h * V, static_cast<size_t>(V));
      change_logits(row, config_.sampling, {r.request.prefix, r.search.live()[0].ids});
      const TokenChoice chosen = sample_token(row, config_.sampling, key);
      choices.ids[static_cast<size_t>(h)] = chosen.id;
      choices.log_probs[static_cast<size_t>(h)] = chosen.log_prob;
    }
  });
  return choices;
}

std::vector<Answer> Translation::step() {
  if (running_.empty()) return {};
  const NoGrad no_grad;
  const Choices choices = choose(next_logits());
  const size_t k = static_cast<size_t>(choices.k);
  std::vector<Answer> answers;
  size_t at = 0;
  for (Running& r : running_) {
    std::vector<Candidates> candidates;
    for (size_t h = 0; h < r.next.size(); ++h, at += k) {
      candidates.push_back({std::span(choices.ids).subspan(at, k), std::span(choices.log_probs).subspan(at, k)});
    }
    go_on(r, r.search.advance(candidates));
    if (!r.search.done()) continue;
    cross_.give(r.memory);
    answers.push_back({r.request.number, r.request.sample, r.search.best()});
    for (Hypothesis& h : answers.back().best) {
      h.ids.insert(h.ids.begin(), r.request.prefix.begin(), r.request.prefix.end());
    }
  }
  std::erase_if(running_, [](const Running& r) { return r.search.done(); });
  return answers;
}

void Translation::go_on(Running& r, const std::vector<Continuation>& continuations) {
  std::vector<int64_t> parents;
  r.next.clear();
  for (const Continuation& c : continuations) {
    parents.push_back(c.parent);
    r.next.push_back({c.token});
  }
  r.past = branch_rows(self_, r.past, parents);
}

}  // namespace heed::decode
