#include "hlo/replica_groups.h"

#include <catch2/catch.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/json_reader.h"
#include "test/hlo/hlo_texts.h"
#include "test/support/error_of.h"

namespace podsim {
namespace {

using Groups = std::vector<std::vector<int>>;
using Pairs = std::vector<std::pair<int, int>>;

Groups GroupsOf(const std::string& text) {
  return ParseReplicaGroups(text, "m.hlo:7:3").groups;
}

std::string GroupError(const std::string& text) {
  return ErrorOf([&] { GroupsOf(text); });
}

TEST_CASE("group texts expand as XLA's own tests assert",
          "[hlo][groups][corpus]") {
  const std::string corpus = HloCorpus();
  if (corpus.empty()) return;
  const JsonValue cases =
      JsonValue::ReadFile(corpus + "/replica_groups_cases.json");
  int compared = 0;
  for (const JsonValue& test : cases.Elements()) {
    const std::string text = test.Get("text").AsString();
    CAPTURE(text);
    Groups expected;
    for (const JsonValue& group : test.Get("groups").Elements()) {
      expected.emplace_back();
      for (const JsonValue& id : group.Elements()) {
        expected.back().push_back(static_cast<int>(id.AsInteger(0, 1000)));
      }
    }
    CHECK(GroupsOf(text) == expected);
    const JsonValue equals = test.Get("equals");
    if (equals.is_string()) CHECK(GroupsOf(equals.AsString()) == expected);
    ++compared;
  }
  CHECK(compared == 12);
}

TEST_CASE("the three forms are told apart", "[hlo][groups]") {
  const auto form = [](const std::string& text) {
    return ParseReplicaGroups(text, "").form;
  };
  CHECK(form("{{0,1},{2,3}}") == ReplicaGroupsForm::kList);
  CHECK(form("{}") == ReplicaGroupsForm::kList);
  CHECK(form("[2,2]<=[4]") == ReplicaGroupsForm::kIota);
  CHECK(form("mesh['x'=4] {'x'}") == ReplicaGroupsForm::kMesh);
  CHECK(form("maximal_mesh[device_id=3]") == ReplicaGroupsForm::kMesh);
}

TEST_CASE("lists keep groups and the order in them", "[hlo][groups]") {
  CHECK(GroupsOf("{}").empty());
  CHECK(GroupsOf("{{3,1},{0,2}}") == Groups{{3, 1}, {0, 2}});
  CHECK(GroupsOf("{ { 0 } , /*one*/ {1}\n}") == Groups{{0}, {1}});
  CHECK(GroupsOf("{{0,1,2},{3}}") == Groups{{0, 1, 2}, {3}});
}

// Index (i, j) of reshape(transpose(reshape(iota, d), p), [G,S]) by division,
// for two dimensions: member m of group g is at place g*S + m of the transposed
// array, which has rows of d[p[1]].
TEST_CASE("an iota is reshaped, transposed and cut", "[hlo][groups]") {
  for (const int a : {1, 2, 3, 5}) {
    for (const int b : {1, 2, 4, 7}) {
      for (const int size : {1, b, a, a * b}) {
        if (a * b % size != 0) continue;
        const std::string shape =
            "[" + std::to_string(a * b / size) + "," + std::to_string(size) +
            "]<=[" + std::to_string(a) + "," + std::to_string(b) + "]";
        CAPTURE(shape);
        const Groups plain = GroupsOf(shape);
        const Groups turned = GroupsOf(shape + "T(1,0)");
        REQUIRE(static_cast<int>(plain.size()) == a * b / size);
        REQUIRE(turned.size() == plain.size());
        for (int place = 0; place < a * b; ++place) {
          const auto g = static_cast<std::size_t>(place / size);
          const auto m = static_cast<std::size_t>(place % size);
          CHECK(plain[g][m] == place);
          // Row place / a of the transposed array is column of the original.
          CHECK(turned[g][m] == place % a * b + place / a);
        }
      }
    }
  }
}

TEST_CASE("an iota of three axes is transposed in the order given",
          "[hlo][groups]") {
  // Axis sizes 2, 3, 4; device = 12 i + 4 j + k. T(2,0,1): k outermost, then i,
  // then j; 4 groups of 6: one per k.
  Groups expected(4);
  for (int k = 0; k < 4; ++k) {
    for (int i = 0; i < 2; ++i) {
      for (int j = 0; j < 3; ++j) {
        expected[static_cast<std::size_t>(k)].push_back(12 * i + 4 * j + k);
      }
    }
  }
  CHECK(GroupsOf("[4,6]<=[2,3,4]T(2,0,1)") == expected);
}

TEST_CASE("a mesh groups the named axes in their order", "[hlo][groups]") {
  // Mesh 2 x 4: device = 4 x + y.
  CHECK(GroupsOf("mesh['x'=2,'y'=4] {'y'}") ==
        Groups{{0, 1, 2, 3}, {4, 5, 6, 7}});
  CHECK(GroupsOf("mesh['x'=2,'y'=4] {'x'}") ==
        Groups{{0, 4}, {1, 5}, {2, 6}, {3, 7}});
  CHECK(GroupsOf("mesh['x'=2,'y'=4] {'x','y'}") ==
        Groups{{0, 1, 2, 3, 4, 5, 6, 7}});
  CHECK(GroupsOf("mesh['x'=2,'y'=4] {'y','x'}") ==
        Groups{{0, 4, 1, 5, 2, 6, 3, 7}});
  CHECK(GroupsOf("mesh['x'=2,'y'=4] {}") ==
        Groups{{0}, {1}, {2}, {3}, {4}, {5}, {6}, {7}});
  // By number, where no axis has it for its name.
  CHECK(GroupsOf("mesh['x'=2,'y'=4] {'1'}") ==
        GroupsOf("mesh['x'=2,'y'=4] {'y'}"));
  CHECK(GroupsOf("mesh['1'=2,'0'=4] {'1'}") ==
        GroupsOf("mesh['x'=2,'y'=4] {'x'}"));
  // y = 2 x 2: its outer and its inner part.
  CHECK(GroupsOf("mesh['x'=2,'y'=4] {'y':(1)2}") ==
        Groups{{0, 2}, {1, 3}, {4, 6}, {5, 7}});
  CHECK(GroupsOf("mesh['x'=2,'y'=4] {'y':(2)2}") ==
        Groups{{0, 1}, {2, 3}, {4, 5}, {6, 7}});
  CHECK(GroupsOf("mesh['x'=2,'y'=4] {'y':(2)2,'x'}") ==
        Groups{{0, 4, 1, 5}, {2, 6, 3, 7}});
  CHECK(GroupsOf("mesh['x'=2,'y'=2], device_ids=([2,2]T(1,0)) {'y'}") ==
        Groups{{0, 2}, {1, 3}});
  CHECK(GroupsOf("mesh['x'=4], device_ids=(7,5,6,4) {'x'}") ==
        Groups{{7, 5, 6, 4}});
  CHECK(GroupsOf("maximal_mesh[device_id=3]") == Groups{{3}});
  CHECK(GroupsOf("maximal_mesh[device_id=3] {}") == Groups{{3}});
}

TEST_CASE("group texts that do not fit are refused", "[hlo][groups][bad]") {
  const auto says = [](const std::string& text, const std::string& what) {
    CHECK(GroupError(text) ==
          "m.hlo:7:3: replica_groups=" + text + ": " + what);
  };
  says("",
       "the value ends, expected groups such as {{0,1},{2,3}}, [2,2]<=[4] "
       "or mesh['x'=4] {'x'}");
  says("all devices",
       "expected groups such as {{0,1},{2,3}}, [2,2]<=[4] or "
       "mesh['x'=4] {'x'}, found 'all'");
  says("{0,1}", "expected '{' before ids, found '0'");
  says("{{0,1}", "the value ends, expected '}' or ',' after a group");
  says("{{0,x},{1}}", "expected an id of a device, found 'x'");
  says("{{0,-1}}", "id -1, expected 0 to 131071");
  says("{{0,131072}}", "id 131072, expected 0 to 131071");
  says("{{0}} {1} ", "expected the end of the value, found '{'");
  says("[8]<=[8]", "1 sizes before \"<=\", expected [groups,members]");
  says("[2,2,2]<=[8]", "3 sizes before \"<=\", expected [groups,members]");
  says("[2,4]=[8]", "expected '<=' after [groups,members], found '='");
  says("[2,4]<=[9]", "2 groups of 4 are not the 9 devices after \"<=\"");
  says("[2,0]<=[8]", "size 0, expected 1 to 131072");
  says("[1,131072]<=[512,512]", "more than 131072 devices");
  says("[2,4]<=[2,4]T(0,0)",
       "the transposition T(0,0) of 2 dimensions, expected each of 0 to 1 "
       "once");
  says("[2,4]<=[2,4]T(1)",
       "the transposition T(1) of 2 dimensions, expected each of 0 to 1 once");
  says("[1,1]<=[]T(0)",
       "the transposition T(0) of no dimensions, expected none");
  says("[2,4]<=[2,4]T",
       "the value ends, expected '(' after the T of a "
       "transposition");
  says("mesh['x'=4] {'y'}", "no axis 'y' in the mesh (axes: x)");
  says("mesh['x'=4] {'1'}", "no axis '1' in the mesh (axes: x)");
  says("mesh['x'=4,'x'=2] {'x'}", "axis 'x' stands twice");
  says("mesh['x'=0] {'x'}", "size 0, expected 1 to 131072");
  says("mesh['x'=4]", "the value ends, expected '{' before the grouped axes");
  says("mesh['x'=4], ids=(0) {'x'}",
       "expected 'device_ids' after the axes of a mesh, found 'ids'");
  says("mesh['x'=4], device_ids=(0,1) {'x'}", "2 device ids in a mesh of 4");
  says("mesh['x'=2], device_ids=(0,131072) {'x'}",
       "id 131072, expected 0 to 131071");
  says("mesh['x'=4] {'x':(3)2}", "(3)2 is no part of an axis of size 4");
  says("mesh['x'=4] {'x':(2)4}", "(2)4 is no part of an axis of size 4");
  says("mesh['x'=4] {'x','x'}", "a part of an axis is used twice");
  says("mesh['x'=8] {'x':(1)4,'x':(2)2}", "a part of an axis is used twice");
  says("mesh['x'=12] {'x':(1)2,'x':(3)2}",
       "parts of an axis that cut it after 2 and 3 do not fit together");
  says("maximal_mesh[device_id=-1]", "id -1, expected 0 to 131071");
  says("maximal_mesh[device_id=3] {'x'}",
       "expected '}' as a maximal mesh has no axes, found '''");
}

TEST_CASE("source-target pairs are unique on each side", "[hlo][groups][bad]") {
  const auto pairs = [](const std::string& text) {
    return ParseSourceTargetPairs(text, "m.hlo:7:3");
  };
  CHECK(pairs("{}").empty());
  CHECK(pairs("{{0,1},{1,2},{2,0}}") == Pairs{{0, 1}, {1, 2}, {2, 0}});
  CHECK(pairs("{{3,3}}") == Pairs{{3, 3}});
  const auto says = [&](const std::string& text, const std::string& what) {
    CHECK(ErrorOf([&] { pairs(text); }) ==
          "m.hlo:7:3: source_target_pairs=" + text + ": " + what);
  };
  says("{{0,1},{0,2}}", "0 is a source twice");
  says("{{0,2},{1,2}}", "2 is a target twice");
  says("{{0,1,2}}", "a pair of 3 ids, expected {source,target}");
  says("{{0}}", "a pair of 1 ids, expected {source,target}");
  says("0,1", "expected '{' before groups, found '0'");
  says("{{0,1}", "the value ends, expected '}' or ',' after a group");
}

// A module of one collective with these attributes.
HloModule Collective(const std::string& opcode, const std::string& attributes,
                     const std::string& header = "HloModule m\n") {
  const bool reduces = opcode == "all-reduce" || opcode == "reduce-scatter";
  return ParseOne(header +
                  "add {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n"
                  "  ROOT c = f32[] add(a, b)\n}\n"
                  "ENTRY e {\n  p = f32[8] parameter(0)\n"
                  "  x = f32[8] " +
                  opcode + "(p)" + attributes +
                  (reduces ? ", to_apply=add" : "") + "\n}\n");
}

const HloInstruction& InstructionX(const HloModule& module) {
  return InstructionOf(module.computations.back(), "x");
}

TEST_CASE("channel and global ids choose the group mode", "[hlo][groups]") {
  const auto mode = [](const std::string& opcode,
                       const std::string& attributes) {
    const HloModule module = Collective(opcode, attributes);
    return std::string(ToText(GroupModeOf(module, InstructionX(module))));
  };
  for (const std::string opcode : {"all-reduce", "all-gather"}) {
    const std::string d = opcode == "all-gather" ? ", dimensions={0}" : "";
    CHECK(mode(opcode, d) == "cross_replica");
    CHECK(mode(opcode, d + ", use_global_device_ids=false") == "cross_replica");
    CHECK(mode(opcode, d + ", channel_id=1") == "cross_replica_and_partition");
    CHECK(mode(opcode, d + ", channel_id=1, use_global_device_ids=false") ==
          "cross_replica_and_partition");
    CHECK(mode(opcode, d + ", channel_id=1, use_global_device_ids=true") ==
          "flattened_id");
    CHECK(mode(opcode + "-start",
               d + (d.empty() ? ", to_apply=add" : "") + ", channel_id=1") ==
          "cross_replica_and_partition");
  }
  for (const std::string opcode : {"all-to-all", "collective-broadcast"}) {
    CHECK(mode(opcode, "") == "cross_replica");
    CHECK(mode(opcode, ", channel_id=1") == "cross_partition");
  }
  CHECK(mode("collective-permute", ", source_target_pairs={}") ==
        "cross_replica");
  CHECK(mode("collective-permute", ", source_target_pairs={}, channel_id=2") ==
        "cross_partition");
  CHECK(ErrorOf([&] { mode("all-reduce", ", use_global_device_ids=true"); }) ==
        "test.hlo:9:3: use_global_device_ids=true needs a channel_id");
  CHECK(ErrorOf([&] { mode("all-reduce", ", use_global_device_ids=yes"); }) ==
        "test.hlo:9:3: use_global_device_ids=yes: expected true or false");
}

TEST_CASE("devices that the header leaves out are the largest id + 1",
          "[hlo][groups]") {
  const auto devices = [](const std::string& opcode,
                          const std::string& attributes,
                          const std::string& header = "HloModule m\n") {
    return InferDevices(Collective(opcode, attributes, header));
  };
  const std::string flat = ", channel_id=1, use_global_device_ids=true";
  DeviceCounts found =
      devices("all-reduce", ", replica_groups=[2,256]<=[512]" + flat);
  CHECK(found.replicas == 1);
  CHECK(found.partitions == 512);
  CHECK(found.partitions_inferred);
  CHECK(found.replicas_inferred);
  found = devices("all-reduce", ", replica_groups={{0,7}}");
  CHECK(found.replicas == 8);
  CHECK(found.partitions == 1);
  found = devices("collective-permute",
                  ", channel_id=1, source_target_pairs={{0,5},{9,1}}");
  CHECK(found.replicas == 1);
  CHECK(found.partitions == 10);
  // 2 replicas of the header and ids up to 6 make 4 partitions.
  found = devices("all-reduce", ", replica_groups={{0,6}}" + flat,
                  "HloModule m, replica_count=2\n");
  CHECK(found.replicas == 2);
  CHECK_FALSE(found.replicas_inferred);
  CHECK(found.partitions == 4);
  found = devices("all-reduce", ", replica_groups={{0,1}}" + flat,
                  "HloModule m, replica_count=2, num_partitions=3\n");
  CHECK(found.devices() == 6);
  CHECK_FALSE(found.partitions_inferred);
}

TEST_CASE("groups become lists of flattened ids by their mode",
          "[hlo][groups]") {
  const DeviceCounts devices{2, 3, false, false};  // id = 3 replica + partition
  const auto expand = [&](const Groups& groups, GroupMode mode) {
    return ExpandGroups({ReplicaGroupsForm::kList, groups}, mode, devices,
                        false, "w");
  };
  CHECK(expand({{1, 0}}, GroupMode::kCrossReplica) ==
        Groups{{3, 0}, {4, 1}, {5, 2}});
  CHECK(expand({{0, 2, 1}}, GroupMode::kCrossPartition) ==
        Groups{{0, 2, 1}, {3, 5, 4}});
  CHECK(expand({{1, 0}}, GroupMode::kCrossReplicaAndPartition) ==
        Groups{{3, 4, 5, 0, 1, 2}});
  CHECK(expand({{0}, {1}}, GroupMode::kCrossReplicaAndPartition) ==
        Groups{{0, 1, 2}, {3, 4, 5}});
  CHECK(expand({{0, 5}, {1, 4}, {2, 3}}, GroupMode::kFlattenedId) ==
        Groups{{0, 5}, {1, 4}, {2, 3}});
  // None named: all replicas, or all partitions.
  CHECK(expand({}, GroupMode::kCrossReplica) == Groups{{0, 3}, {1, 4}, {2, 5}});
  CHECK(expand({}, GroupMode::kCrossPartition) == Groups{{0, 1, 2}, {3, 4, 5}});
  CHECK(expand({}, GroupMode::kCrossReplicaAndPartition) ==
        Groups{{0, 1, 2, 3, 4, 5}});
  // Whatever the mode, every device is in one group.
  for (const GroupMode mode :
       {GroupMode::kCrossReplica, GroupMode::kCrossPartition,
        GroupMode::kCrossReplicaAndPartition}) {
    std::vector<int> seen(6, 0);
    for (const auto& group : expand({}, mode)) {
      for (const int id : group) ++seen.at(static_cast<std::size_t>(id));
    }
    CHECK(seen == std::vector<int>(6, 1));
  }
}

TEST_CASE("pairs become pairs of flattened ids by their mode",
          "[hlo][groups]") {
  const DeviceCounts devices{2, 3, false, false};
  CHECK(ExpandPairs({{0, 1}}, GroupMode::kCrossReplica, devices, "w") ==
        Pairs{{0, 3}, {1, 4}, {2, 5}});
  CHECK(ExpandPairs({{2, 0}}, GroupMode::kCrossPartition, devices, "w") ==
        Pairs{{2, 0}, {5, 3}});
  CHECK(ErrorOf([&] {
          ExpandPairs({{0, 3}}, GroupMode::kCrossPartition, devices, "w");
        }) == "w: source_target_pairs: id 3, expected 0 to 2");
}

TEST_CASE("groups that do not fit the devices are refused",
          "[hlo][groups][bad]") {
  const DeviceCounts devices{4, 1, false, true};
  const auto message = [&](const Groups& groups, GroupMode mode,
                           bool ragged = false) {
    return ErrorOf([&] {
      ExpandGroups({ReplicaGroupsForm::kList, groups}, mode, devices, ragged,
                   "w");
    });
  };
  const GroupMode replicas = GroupMode::kCrossReplica;
  CHECK(message({{0, 1}, {2, 2}}, replicas) ==
        "w: replica_groups: id 2 stands twice");
  CHECK(message({{0, 1}, {2, 4}}, replicas) ==
        "w: replica_groups: id 4, expected each of 0 to 3 once");
  CHECK(message({{0, 1, 2, 3}, {}}, replicas) ==
        "w: replica_groups: empty group");
  CHECK(message({{0, 1, 2}, {3}}, replicas) ==
        "w: replica_groups: groups of 3 and of 1 ids, only an all-reduce may "
        "mix sizes");
  CHECK(message({{0, 1, 2}, {3}}, replicas, true) == "no error");
  CHECK(message({{0, 1}}, replicas) ==
        "w: replica_groups: 2 ids, expected 4 as the header's replica_count");
  CHECK(message({}, GroupMode::kFlattenedId) ==
        "w: empty replica_groups with use_global_device_ids=true; name the "
        "devices");
  // The header does not say how many partitions there are.
  CHECK(message({{0, 1, 2}}, GroupMode::kCrossPartition) == "no error");
  CHECK(ErrorOf([&] {
          InferDevices(Collective("all-reduce",
                                  ", replica_groups={{131071}}, channel_id=1",
                                  "HloModule m, num_partitions=2\n"));
        }) ==
        "test.hlo: 131072 replicas of 2 partitions, expected at most "
        "131072 devices");
}

}  // namespace
}  // namespace podsim
