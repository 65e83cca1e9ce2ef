// toml++ behind a C function: every value of every table as text. No exceptions cross, because none are compiled in.
#define TOML_EXCEPTIONS 0
#define TOML_HEADER_ONLY 1
#include <toml++/toml.h>

#include <cstdio>
#include <string>

#include "config_file.h"

namespace {

int give(config_value *value, void *user, const std::string &table, const std::string &key, const toml::node &node, char *why, size_t why_size,
         const char *path)
{
    unsigned line = node.source().begin.line;
    if (const auto *array = node.as_array()) {
        for (const auto &element : *array)
            if (give(value, user, table, key, element, why, why_size, path) < 0)
                return -1;
        return 0;
    }
    std::string text;
    bool flag = false;
    if (auto s = node.value_exact<std::string>())
        text = *s;
    else if (auto b = node.value_exact<bool>()) {
        text = *b ? "true" : "false";
        flag = true;
    } else if (auto i = node.value_exact<int64_t>())
        text = std::to_string(*i);
    else {
        snprintf(why, why_size, "%s:%u: '%s': want a text, a whole number, true, false, or an array of texts", path, line, key.c_str());
        return -1;
    }
    return value(user, table.c_str(), key.c_str(), text.c_str(), flag, line);
}

}

extern "C" int config_toml_walk(const char *path, config_value *value, void *user, char *why, size_t why_size)
{
    toml::parse_result result = toml::parse_file(std::string_view(path));
    if (!result) {
        const auto &error = result.error();
        std::string text(error.description());
        snprintf(why, why_size, "%s:%u: %s", path, static_cast<unsigned>(error.source().begin.line), text.c_str());
        return -1;
    }
    for (const auto &[name, node] : result.table()) {
        std::string table(name.str());
        const auto *keys = node.as_table();
        if (!keys) {
            snprintf(why, why_size, "%s:%u: '%s' stands outside of a table; want [tunnel], [security], [rate], [relay], [health] or [daemon] above it", path,
                     static_cast<unsigned>(node.source().begin.line), table.c_str());
            return -1;
        }
        for (const auto &[key, content] : *keys)
            if (give(value, user, table, std::string(key.str()), content, why, why_size, path) < 0)
                return -1;
    }
    return 0;
}
