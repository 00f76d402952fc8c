#include "heed/tensor/autograd.h"

#include <algorithm>
#include <deque>
#include <vector>

#include "heed/base/error.h"
#include "heed/kernels/elementwise.h"
#include "heed/tensor/recompute.h"

namespace heed {
namespace {

using detail::Node;

thread_local bool recording = true;

float* grad_data(Node& n) { return n.grad.data() + n.grad_offset; }

int64_t columns_of(const Node& n) { return n.shape.rank() ? n.shape[-1] : 1; }

void fill_columns(Node& n, int64_t begin, int64_t end) {
  const int64_t C = columns_of(n), rows = C ? n.shape.numel() / C : 0;
  for (int64_t r = 0; r < rows; ++r) std::fill_n(grad_data(n) + r * C + begin, end - begin, 0.0f);
}

// Makes every column of a gradient that slices wrote in part valid.
void complete(Node& n) {
  if (n.grad_written || n.n_written == 0) return;
  auto* first = n.written.data();
  std::sort(first, first + n.n_written);
  int64_t at = 0;
  for (int i = 0; i < n.n_written; ++i) {
    if (first[i].first > at) fill_columns(n, at, first[i].first);
    at = std::max(at, first[i].second);
  }
  if (at < columns_of(n)) fill_columns(n, at, columns_of(n));
  n.n_written = 0;
  n.grad_written = true;
}

// Before anything is written into memory that was lent out.
void take_back(Node& n) {
  if (!n.lent || n.evicted) return;
  Buffer copy(n.shape.numel());
  kernels::copy(copy.data(), grad_data(n), n.shape.numel());
  n.evicted = copy;
}

// Adding in place must not reach another node that shares the gradient.
void own_grad(Node& n) {
  if (n.grad_shared || n.grad.unique()) return;
  Buffer copy(n.shape.numel());
  kernels::copy(copy.data(), grad_data(n), n.shape.numel());
  n.grad = copy;
  n.grad_offset = 0;
}

GradTarget whole_target(Node& n) {
  complete(n);
  const int64_t C = columns_of(n);
  if (n.grad_written) {
    own_grad(n);
    return {grad_data(n), C, true};
  }
  take_back(n);
  if (!n.grad) n.grad = Buffer(n.shape.numel());
  n.grad_written = true;
  return {grad_data(n), C, false};
}

GradTarget column_target(Node& n, int64_t begin, int64_t end) {
  const int64_t C = columns_of(n);
  if (!n.grad_written) {
    take_back(n);
    if (!n.grad) n.grad = Buffer(n.shape.numel());
    const auto overlaps = [&](const auto& piece) { return begin < piece.second && piece.first < end; };
    const bool fresh = std::none_of(n.written.begin(), n.written.begin() + n.n_written, overlaps);
    if (fresh && n.n_written < static_cast<int>(n.written.size())) {
      n.written[n.n_written++] = {begin, end};
      return {grad_data(n) + begin, C, false};
    }
    complete(n);
  }
  own_grad(n);
  return {grad_data(n) + begin, C, true};
}

void drop_grad(Node& n) {
  if (!n.grad_shared) {
    n.grad = Buffer();
    n.grad_offset = 0;  // the next one may start elsewhere
  }
  n.grad_written = false;
  n.n_written = 0;
}

bool newer(const Tensor& a, const Tensor& b) { return a.node()->number < b.node()->number; }

// Nodes whose gradient may still grow, the newest on top. Kept between calls: no allocation in steady state.
class Queue {
 public:
  void push(const Tensor& t) {
    Node* n = t.node();
    if (!n->requires_grad || n->queued) return;
    n->queued = true;
    heap_.push_back(t);
    std::push_heap(heap_.begin(), heap_.end(), newer);
  }
  Tensor pop() {
    std::pop_heap(heap_.begin(), heap_.end(), newer);
    Tensor t = std::move(heap_.back());
    heap_.pop_back();
    t.node()->queued = false;
    return t;
  }
  bool empty() const { return heap_.empty(); }
  void clear() {
    while (!empty()) pop();
  }

 private:
  std::vector<Tensor> heap_;
};

// A backward may run another one inside (recompute.h): each has a queue of its own, left empty even by an exception.
class QueueOfThis {
 public:
  QueueOfThis() : queue_(depth_ < all_.size() ? all_[depth_] : all_.emplace_back()) { ++depth_; }
  ~QueueOfThis() {
    queue_.clear();
    --depth_;
  }
  QueueOfThis(const QueueOfThis&) = delete;
  QueueOfThis& operator=(const QueueOfThis&) = delete;
  Queue& operator*() const { return queue_; }

 private:
  static thread_local std::deque<Queue> all_;
  static thread_local size_t depth_;
  Queue& queue_;
};
thread_local std::deque<Queue> QueueOfThis::all_;
thread_local size_t QueueOfThis::depth_ = 0;

void run_backward(const Tensor& t, Queue& queue) {
  Node& n = *t.node();
  if (n.used) fail("[backward] the history of shape {} was used up by an earlier backward", n.shape.str());
  for (int i = 0; i < n.n_inputs; ++i) queue.push(n.inputs[i]);
  if (!n.backward) return;  // a leaf, or a slice whose gradient lies in its parent's
  complete(n);
  if (n.grad_written) {
    const Tensor dy = Tensor::view_of(n.grad, n.grad_offset, n.shape);
    drop_grad(n);  // dy alone holds it now, so that it can be handed on
    n.backward->run(dy);
  }
  delete std::exchange(n.backward, nullptr);
  n.used = true;
  for (int i = 0; i < n.n_inputs; ++i) n.inputs[i] = Tensor();
  n.n_inputs = 0;
}

}  // namespace

namespace detail {

bool record(const Tensor& y, const Tensor* inputs, int n) {
  if (!recording || std::none_of(inputs, inputs + n, [](const Tensor& x) { return x && x.requires_grad(); }))
    return false;
  if (n > Node::kMaxInputs) fail("[autograd] {} inputs: at most {}", n, Node::kMaxInputs);
  Node& node = *y.node();
  node.requires_grad = true;
  for (int i = 0; i < n; ++i) {
    if (inputs[i] && inputs[i].requires_grad()) node.inputs[node.n_inputs++] = inputs[i];
  }
  return true;
}

bool record(const Tensor& y, std::initializer_list<Tensor> inputs) {
  return record(y, inputs.begin(), static_cast<int>(inputs.size()));
}

}  // namespace detail

bool share_gradient(const Tensor& a, const Tensor& b) {
  if (!a || !b || !a.requires_grad() || !b.requires_grad()) return false;
  const Node &x = *a.node(), &y = *b.node();
  const Node *root_x = x.parent ? x.parent.node() : &x, *root_y = y.parent ? y.parent.node() : &y;
  return root_x == root_y && x.column < y.column + columns_of(y) && y.column < x.column + columns_of(x);
}

detail::Recording::Recording(bool wanted) : before_(std::exchange(recording, wanted)) {}
detail::Recording::~Recording() { recording = before_; }

NoGrad::NoGrad() : before_(std::exchange(recording, false)) {}
NoGrad::~NoGrad() {
  recording = before_;
  if (recording) next_round();  // a backward or a run without gradients is over
}
bool grad_enabled() { return recording; }

bool Tensor::requires_grad() const { return known().requires_grad; }

Tensor& Tensor::set_requires_grad(bool wanted) {
  (wanted ? in_memory() : known()).requires_grad = wanted;
  return *this;
}

void Tensor::set_grad_storage(const Buffer& buffer, int64_t offset) {
  take_back(known());
  node_->grad = buffer;
  node_->grad_offset = offset;
  node_->grad_shared = true;
  node_->grad_written = false;
}

void Tensor::clear_grad() { drop_grad(known()); }

Tensor Tensor::grad() const {
  Node& n = known();
  if (n.parent) fail("[grad] of a column slice: ask the whole");
  complete(n);
  if (n.grad_written) return view_of(n.grad, n.grad_offset, n.shape);
  if (!n.grad_shared) return zeros(n.shape);
  take_back(n);
  kernels::fill(grad_data(n), 0, n.shape.numel());
  n.grad_written = true;
  return view_of(n.grad, n.grad_offset, n.shape);
}

GradTarget Tensor::grad_target() const {
  if (!node_ || !node_->requires_grad) return {};
  if (node_->parent) {
    return column_target(*node_->parent.node(), node_->column, node_->column + columns_of(*node_));
  }
  return whole_target(*node_);
}

GradTarget Tensor::zeroed_grad_target() const {
  GradTarget target = grad_target();
  if (!target || target.accumulate) return target;
  for (int64_t r = 0; r < rows(); ++r) std::fill_n(target.data + r * target.ld, cols(), 0.0f);
  target.accumulate = true;
  return target;
}

void Tensor::add_grad(const Tensor& gradient) const {
  if (!node_ || !node_->requires_grad) return;
  Node& n = *node_;
  const bool untouched = !n.parent && !n.grad_written && n.n_written == 0 && !n.grad_shared;
  if (untouched && gradient.contiguous()) {
    n.grad = gradient.node()->values;
    n.grad_offset = gradient.node()->offset;
    n.grad_written = true;
    return;
  }
  const GradTarget target = grad_target();
  if (target.ld == cols() && gradient.contiguous()) {
    kernels::scale(target.data, gradient.data(), 1, numel(), target.accumulate);
    return;
  }
  for (int64_t r = 0; r < rows(); ++r) {
    kernels::scale(target.data + r * target.ld, gradient.data() + r * gradient.ld(), 1, cols(), target.accumulate);
  }
}

void Tensor::backward() const {
  if (numel() != 1) fail("[backward] shape {}: expected a scalar", shape().str());
  backward(full(shape(), 1));
}

void Tensor::backward(const Tensor& upstream) const {
  if (!known().requires_grad) fail("[backward] nothing here requires a gradient");
  if (!(upstream.shape() == shape()))
    fail("[backward] gradient {} for shape {}", upstream.shape().str(), shape().str());
  const QueueOfThis mine;
  Queue& queue = *mine;
  NoGrad no_grad;
  add_grad(upstream);
  queue.push(*this);
  while (!queue.empty()) run_backward(queue.pop(), queue);
}

}  // namespace heed
