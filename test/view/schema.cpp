// Prints the schema of listings: JSON Schema, draft 7.
// SPDX-License-Identifier: Apache-2.0
#include "test/view/schema.h"

#include "allocator/base/place.h"
#include "reporter/view/listing/json_text.h"

namespace vramscope {
namespace {

constexpr std::string_view kDefinition = "definition ";

std::string quoted(std::string_view text) {
  const std::string line = JsonText().value(text).text();
  return line.substr(0, line.size() - 1);
}

template <class List>
std::string list_of(const List& words) {
  std::string list;
  for (const auto& word : words) list += (list.empty() ? "[" : ", ") + quoted(word);
  return list + "]";
}

std::string reference(std::string_view name) {
  return "\"$ref\": " + quoted("#/" + std::string(name));
}

// The members that say which values there may be, of what has no fields.
std::string values_of(const Field& field) {
  const auto typed = [&](std::string_view name) {
    const std::string type = quoted(name);
    return "\"type\": " + (field.may_be_null ? "[" + type + ", \"null\"]" : type);
  };
  const std::string integers = R"("additionalProperties": {"type": "integer"})";
  if (field.type == "any") return "";
  if (field.type.starts_with("kind")) return reference("$defs/" + field.type);
  if (field.type == "integers") return typed("array") + R"(, "items": {"type": "integer"})";
  if (field.type == "strings") return typed("array") + R"(, "items": {"type": "string"})";
  if (field.type == "numbers") {
    return typed("object") +
           (field.words.empty() ? "" : ", \"required\": " + list_of(field.words)) + ", " + integers;
  }
  if (field.type == "numbers_by_name") {
    return typed("object") + R"(, "additionalProperties": {"type": "object", )" + integers + "}";
  }
  if (field.type.starts_with(kDefinition)) {
    const std::string name = reference("definitions/" + field.type.substr(kDefinition.size()));
    return typed("object") + R"(, "anyOf": [{"type": "null"}, {)" + name + "}]";
  }
  return typed(field.type) + (field.words.empty() ? "" : ", \"enum\": " + list_of(field.words));
}

// On one line.
std::string line_of(const Field& field) {
  std::string line = values_of(field);
  const auto add = [&](const char* name, const std::string& value) {
    if (value.empty()) return;
    line += (line.empty() ? "" : ", ") + quoted(name) + ": " + quoted(value);
  };
  add("x-unit", field.unit);
  add("description", field.doc);
  return "{" + line + "}";
}

void add_schema(JsonText& json, const Field& field);

// Of an object that is open.
void add_fields(JsonText& json, const std::vector<Field>& fields) {
  std::vector<std::string> required;
  for (const Field& field : fields) {
    if (!field.is_optional) required.push_back(field.name);
  }
  json.field("additionalProperties", false).key("required").json(list_of(required));
  json.key("properties").object();
  for (const Field& field : fields) add_schema(json.key(field.name), field);
  json.end();
}

void add_schema(JsonText& json, const Field& field) {
  if (field.fields.empty()) {
    json.json(line_of(field));
    return;
  }
  const bool is_list = field.type == "objects";
  json.object().key("type").json(field.may_be_null ? R"(["object", "null"])"
                                                   : quoted(is_list ? "array" : "object"));
  if (!field.doc.empty()) json.field("description", field.doc);
  if (is_list) json.key("items").object().field("type", "object");
  add_fields(json, field.fields);
  if (is_list) json.end();
  json.end();
}

}  // namespace

std::string schema_of(const std::vector<Field>& listings) {
  JsonText json;
  json.object().field("$schema", "http://json-schema.org/draft-07/schema#");
  json.field("$id", "https://vramscope.invalid/listings.schema.json");
  json.field("title", "What vramscope VERB --json writes: a definition for each verb");
  json.field("description",
             "the whole fits any verb; one verb's listing is checked against its definition: "
             "{\"$ref\": \"listings.schema.json#/definitions/peak\"}");
  json.key("anyOf").array();
  for (const Field& one : listings) json.json("{" + reference("definitions/" + one.name) + "}");
  json.end().key("$defs").object();
  json.key("kind").json(R"({"type": "string", "enum": )" + list_of(kKindNames) + "}");
  json.key("kind_or_all")
      .json("{\"anyOf\": [{" + reference("$defs/kind") +
            R"(}, {"type": "string", "enum": ["all"]}]})");
  json.end().key("definitions").object();
  for (const Field& one : listings) add_schema(json.key(one.name), one);
  return json.end().end().text();
}

}  // namespace vramscope
