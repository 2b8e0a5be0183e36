#ifndef PODSIM_ENGINE_EVENT_QUEUE_H_
#define PODSIM_ENGINE_EVENT_QUEUE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace podsim {

struct Event {
  double date;
  std::uint32_t id;
  std::uint32_t version;
};

// First in, first out in a ring buffer.
class EventFifo {
 public:
  bool empty() const { return size_ == 0; }
  const Event& front() const { return ring_[head_]; }
  const Event& back() const { return ring_[(head_ + size_ - 1) & mask_]; }
  void Push(const Event& event) {
    if (size_ == ring_.size()) Grow();
    ring_[(head_ + size_) & mask_] = event;
    ++size_;
  }
  void Pop() {
    head_ = (head_ + 1) & mask_;
    --size_;
  }

 private:
  void Grow() {
    std::vector<Event> larger(ring_.empty() ? 64 : 2 * ring_.size());
    for (std::size_t k = 0; k < size_; ++k) {
      larger[k] = ring_[(head_ + k) & mask_];
    }
    ring_ = std::move(larger);
    mask_ = ring_.size() - 1;
    head_ = 0;
  }

  std::vector<Event> ring_;
  std::size_t mask_ = 0;
  std::size_t head_ = 0;
  std::size_t size_ = 0;
};

// A priority queue by (date, id) for event dates that mostly come in order:
// what is not earlier than the last one in order goes to a FIFO in O(1), the
// rest to a heap with four children per node.
class EventQueue {
 public:
  bool empty() const { return in_order_.empty() && heap_.empty(); }

  const Event& top() const { return FromFifo() ? in_order_.front() : heap_[0]; }

  void Push(const Event& event) {
    if (in_order_.empty() || !Before(event, in_order_.back())) {
      in_order_.Push(event);
      return;
    }
    std::size_t hole = heap_.size();
    heap_.push_back(event);
    while (hole > 0) {
      const std::size_t parent = (hole - 1) / 4;
      if (!Before(event, heap_[parent])) break;
      heap_[hole] = heap_[parent];
      hole = parent;
    }
    heap_[hole] = event;
  }

  void Pop() {
    if (FromFifo()) {
      in_order_.Pop();
      return;
    }
    const Event last = heap_.back();
    heap_.pop_back();
    if (heap_.empty()) return;
    const std::size_t size = heap_.size();
    std::size_t hole = 0;
    for (;;) {
      const std::size_t child = 4 * hole + 1;
      if (child >= size) break;
      std::size_t least = child;
      const std::size_t end = child + 4 < size ? child + 4 : size;
      for (std::size_t k = child + 1; k < end; ++k) {
        if (Before(heap_[k], heap_[least])) least = k;
      }
      if (!Before(heap_[least], last)) break;
      heap_[hole] = heap_[least];
      hole = least;
    }
    heap_[hole] = last;
  }

 private:
  static bool Before(const Event& a, const Event& b) {
    return a.date < b.date || (a.date == b.date && a.id < b.id);
  }
  bool FromFifo() const {
    return heap_.empty() ||
           (!in_order_.empty() && Before(in_order_.front(), heap_[0]));
  }

  EventFifo in_order_;
  std::vector<Event> heap_;
};

// At most one date per id, which may move: a heap with four children per node
// that knows the place of every id. By (date, id).
class MovableQueue {
 public:
  bool empty() const { return heap_.empty(); }
  double date() const { return heap_[0].date; }
  std::uint32_t id() const { return heap_[0].id; }

  void Set(std::uint32_t id, double date) {
    if (id >= places_.size()) places_.resize(id + 1, kAbsent);
    if (places_[id] == kAbsent) {
      places_[id] = static_cast<std::uint32_t>(heap_.size());
      heap_.push_back({date, id});
    }
    Settle(places_[id], {date, id});
  }
  void Pop() {
    places_[heap_[0].id] = kAbsent;
    const Due last = heap_.back();
    heap_.pop_back();
    if (!heap_.empty()) Settle(0, last);
  }

 private:
  static constexpr std::uint32_t kAbsent = UINT32_MAX;
  struct Due {
    double date;
    std::uint32_t id;
  };
  static bool Before(const Due& a, const Due& b) {
    return a.date < b.date || (a.date == b.date && a.id < b.id);
  }
  void Put(std::size_t at, const Due& due) {
    heap_[at] = due;
    places_[due.id] = static_cast<std::uint32_t>(at);
  }
  // Moves the hole to where `due` belongs.
  void Settle(std::size_t hole, const Due& due) {
    while (hole > 0) {
      const std::size_t parent = (hole - 1) / 4;
      if (!Before(due, heap_[parent])) break;
      Put(hole, heap_[parent]);
      hole = parent;
    }
    for (;;) {
      const std::size_t child = 4 * hole + 1;
      if (child >= heap_.size()) break;
      std::size_t least = child;
      const std::size_t end = std::min(child + 4, heap_.size());
      for (std::size_t k = child + 1; k < end; ++k) {
        if (Before(heap_[k], heap_[least])) least = k;
      }
      if (!Before(heap_[least], due)) break;
      Put(hole, heap_[least]);
      hole = least;
    }
    Put(hole, due);
  }

  std::vector<Due> heap_;
  std::vector<std::uint32_t> places_;  // in the heap, by id
};

// Events at a constant delay from non-decreasing dates, one FIFO per delay.
class DelayQueue {
 public:
  // A handle for Push.
  std::size_t ClassOf(double delay) {
    for (std::size_t k = 0; k < delays_.size(); ++k) {
      if (delays_[k] == delay) return k;
    }
    delays_.push_back(delay);
    fifos_.emplace_back();
    return delays_.size() - 1;
  }
  void Push(std::size_t delay_class, double now, std::uint32_t id) {
    fifos_[delay_class].Push({now + delays_[delay_class], id, 0});
    ++size_;
  }
  bool empty() const { return size_ == 0; }
  const Event& top() const { return fifos_[Earliest()].front(); }
  void Pop() {
    fifos_[Earliest()].Pop();
    --size_;
  }

 private:
  std::size_t Earliest() const {
    if (fifos_.size() == 1) return 0;
    std::size_t best = fifos_.size();
    for (std::size_t k = 0; k < fifos_.size(); ++k) {
      if (fifos_[k].empty()) continue;
      if (best == fifos_.size() ||
          fifos_[k].front().date < fifos_[best].front().date) {
        best = k;
      }
    }
    return best;
  }

  std::vector<double> delays_;
  std::vector<EventFifo> fifos_;
  std::size_t size_ = 0;
};

}  // namespace podsim

#endif  // PODSIM_ENGINE_EVENT_QUEUE_H_
