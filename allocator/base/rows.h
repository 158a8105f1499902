// Rows are a list of values, or stand for one whose values are made when they are asked for.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

namespace vramscope {

// Threads: one. Never changes.
template <class Row>
class RowSource {
 public:
  virtual ~RowSource() = default;
  [[nodiscard]] virtual std::size_t size() const = 0;
  [[nodiscard]] virtual Row at(std::size_t index) const = 0;  // below size(); may throw bad_alloc

 protected:
  RowSource() = default;
  RowSource(const RowSource&) = default;
  RowSource& operator=(const RowSource&) = default;
};

// A row is asked for by value: a program with a million of them must not pay for a million values.
// Threads: one.
template <class Row>
class Rows {
 public:
  using Source = std::shared_ptr<const RowSource<Row>>;

  Rows() = default;
  Rows(std::vector<Row> rows) : own_(std::move(rows)) {}
  Rows(std::initializer_list<Row> rows) : own_(rows) {}
  explicit Rows(Source source) : source_(std::move(source)) {}

  [[nodiscard]] std::size_t size() const { return source_ ? source_->size() : own_.size(); }
  [[nodiscard]] bool empty() const { return size() == 0; }
  [[nodiscard]] Row operator[](std::size_t i) const { return source_ ? source_->at(i) : own_[i]; }
  [[nodiscard]] Row at(std::size_t i) const {
    if (i >= size()) throw std::out_of_range("there are fewer rows");
    return (*this)[i];
  }

  // The values themselves, which lie here from now on. May throw bad_alloc.
  [[nodiscard]] std::vector<Row>& own() {
    if (source_) {
      own_ = std::vector<Row>(begin(), end());
      source_ = nullptr;
    }
    return own_;
  }
  // Of rows that lie here.
  [[nodiscard]] const std::vector<Row>& own() const { return own_; }

  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = Row;
    using difference_type = std::ptrdiff_t;
    using pointer = void;
    using reference = Row;

    Iterator(const Rows& rows, std::size_t at) : rows_(&rows), at_(at) {}
    [[nodiscard]] Row operator*() const { return (*rows_)[at_]; }
    Iterator& operator++() {
      ++at_;
      return *this;
    }
    friend bool operator==(const Iterator& a, const Iterator& b) { return a.at_ == b.at_; }

   private:
    const Rows* rows_;
    std::size_t at_;
  };
  [[nodiscard]] Iterator begin() const { return {*this, 0}; }
  [[nodiscard]] Iterator end() const { return {*this, size()}; }

 private:
  std::vector<Row> own_;
  Source source_;
};

}  // namespace vramscope
