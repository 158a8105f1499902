// What most verbs include, parsed once.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <memory>

#include "reporter/report/report.h"
#include "reporter/view/command/inputs.h"
#include "reporter/view/command/verb.h"
