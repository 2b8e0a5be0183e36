#include <algorithm>
#include <map>

#include "step/verify_order.h"

namespace podsim {
namespace {

using ChipProgram = std::vector<IssuedCollective>;

bool HasMember(const IssuedCollective& collective, std::uint32_t chip) {
  return std::find(collective.members.begin(), collective.members.end(),
                   chip) != collective.members.end();
}

std::map<std::string, std::size_t> Positions(const ChipProgram& program) {
  std::map<std::string, std::size_t> positions;
  for (std::size_t k = 0; k < program.size(); ++k) {
    positions.emplace(program[k].name, k);
  }
  return positions;
}

std::string Issued(const std::string& name, std::size_t position) {
  return name + " (position " + std::to_string(position) + ")";
}

// Of the collectives that a chip issues with another one.
class PairCheck {
 public:
  PairCheck(std::uint32_t a, std::uint32_t b,
            const std::map<std::string, std::size_t>& of_b,
            OrderViolations& violations)
      : a_(a), b_(b), of_b_(of_b), violations_(violations) {}

  void Run(const ChipProgram& of_a) {
    std::string before;
    std::size_t before_a = 0;
    std::size_t before_b = 0;
    for (std::size_t k = 0; k < of_a.size(); ++k) {
      if (!HasMember(of_a[k], b_)) continue;
      const auto found = of_b_.find(of_a[k].name);
      if (found == of_b_.end()) {
        Add("chip " + std::to_string(a_) + " issues " +
            Issued(of_a[k].name, k) + ", its member chip " +
            std::to_string(b_) + " never does");
        continue;
      }
      if (a_ < b_ && !before.empty() && found->second < before_b) {
        Add("chip " + std::to_string(a_) + " issues " +
            Issued(before, before_a) + " before " + Issued(of_a[k].name, k) +
            ", chip " + std::to_string(b_) + " issues " +
            Issued(of_a[k].name, found->second) + " before " +
            Issued(before, before_b));
        return;
      }
      before = of_a[k].name;
      before_a = k;
      before_b = found->second;
    }
  }

 private:
  void Add(const std::string& what) {
    violations_.push_back(
        {.rule = OrderRule::kDeadlock, .text = "schedule: deadlock: " + what});
  }

  std::uint32_t a_;
  std::uint32_t b_;
  const std::map<std::string, std::size_t>& of_b_;
  OrderViolations& violations_;
};

// Whom the program meets, itself left out.
std::vector<std::uint32_t> Partners(const ChipProgram& program,
                                    std::uint32_t chip) {
  std::vector<std::uint32_t> partners;
  for (const IssuedCollective& collective : program) {
    partners.insert(partners.end(), collective.members.begin(),
                    collective.members.end());
  }
  std::sort(partners.begin(), partners.end());
  partners.erase(std::unique(partners.begin(), partners.end()), partners.end());
  std::erase(partners, chip);
  return partners;
}

}  // namespace

OrderViolations VerifyCollectiveOrders(
    const std::vector<std::vector<IssuedCollective>>& programs) {
  std::vector<std::map<std::string, std::size_t>> positions;
  for (const ChipProgram& program : programs) {
    positions.push_back(Positions(program));
  }
  OrderViolations violations;
  const std::map<std::string, std::size_t> nothing;
  for (std::uint32_t a = 0; a < programs.size(); ++a) {
    for (const std::uint32_t b : Partners(programs[a], a)) {
      const auto& of_b = b < programs.size() ? positions[b] : nothing;
      PairCheck(a, b, of_b, violations).Run(programs[a]);
    }
  }
  return violations;
}

}  // namespace podsim
