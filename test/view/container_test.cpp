// Container and pod of a process, as runtimes and Kubernetes name control groups.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/system/container.h"

#include <gtest/gtest.h>

#include <unistd.h>
#include <string>

namespace vramscope {
namespace {

const std::string kId = "8f5bd2d5a1c64c4c9f0e2f6a0b7d3e1c8f5bd2d5a1c64c4c9f0e2f6a0b7d3e1c";
const std::string kUid = "6a1f3c2e-90ab-4cde-8f01-23456789abcd";
const std::string kUidOfSystemd = "6a1f3c2e_90ab_4cde_8f01_23456789abcd";

TEST(Container, IsNamedByItsControlGroup) {
  for (const std::string& path :
       {"/system.slice/docker-" + kId + ".scope", "/docker/" + kId,
        "/machine.slice/libpod-" + kId + ".scope/container",
        "/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" + kId + ".scope"}) {
    const Container found = container_in("0::" + path + "\n");

    EXPECT_EQ(found.id, kId) << path;
    EXPECT_EQ(found.pod_uid, "") << path;
  }
}

TEST(Container, OfAPodHasItsUidInBothForms) {
  const std::string systemd =
      "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" + kUidOfSystemd + ".slice";
  for (const std::string& path :
       {systemd + "/cri-containerd-" + kId + ".scope", systemd + "/crio-" + kId + ".scope",
        "/kubepods.slice/kubepods-pod" + kUidOfSystemd + ".slice/cri-containerd-" + kId + ".scope",
        "/kubepods/besteffort/pod" + kUid + "/" + kId}) {
    const Container found = container_in("0::" + path + "\n");

    EXPECT_EQ(found.id, kId) << path;
    EXPECT_EQ(found.pod_uid, kUid) << path;
  }
}

TEST(Container, OfAStaticPodHasAChecksumForUid) {
  const std::string checksum = "0123456789abcdef0123456789abcdef";

  EXPECT_EQ(container_in("0::/kubepods/pod" + checksum + "/" + kId).pod_uid, checksum);
}

TEST(Container, TheInnermostCounts) {
  const std::string inner(64, 'a');

  EXPECT_EQ(container_in("0::/docker/" + kId + "/docker/" + inner + "\n").id, inner);
}

TEST(Container, IsFoundInAnyHierarchyOfTheFirstVersion) {
  const std::string groups = "12:cpuset:/\n4:memory:/docker/" + kId + "\n1:name=systemd:/\n0::/\n";

  EXPECT_EQ(container_in(groups).id, kId);
}

TEST(Container, OtherGroupsNameNone) {
  for (const std::string& path :
       {std::string("/"), std::string(""),
        std::string("/user.slice/user-1000.slice/session-2.scope"), "/docker/" + kId.substr(1),
        "/docker/x" + kId, "/kubepods/pod" + kUid.substr(1), "/tripod" + kUid,
        std::string("/kubepods/pod"), std::string(100, '/')}) {
    const Container found = container_in("0::" + path + "\n");

    EXPECT_EQ(found.id, "") << path;
    EXPECT_EQ(found.pod_uid, "") << path;
  }
}

TEST(Container, OfAProcessThatDoesNotExistIsNone) { EXPECT_EQ(container_of(-1).id, ""); }

}  // namespace
}  // namespace vramscope
