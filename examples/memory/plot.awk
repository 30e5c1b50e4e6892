# plot.awk: lines "NAME N BYTES" become an SVG: bytes a key over N, both logarithmic
#
# A series for each name, filters blue and exact sets brown; names stand at the right, at the
# height of the last point, pushed apart where they would cover each other.

function x_of(n) { return left + log(n / 1000) / log(x_high / 1000) * (width - left - right) }
function y_of(bytes) { return height - bottom - log(bytes / low) / log(high / low) * (height - top - bottom) }
function text(x, y, anchor, colour, words) {
    printf "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\" fill=\"%s\">%s</text>\n", x, y, anchor, colour, words
}

BEGIN {
    width = 760; height = 420; left = 64; right = 190; top = 44; bottom = 48
    low = 0.5; high = 200; x_high = 1000
    label["HashSet"] = "Java HashSet"
    label["unordered_set"] = "C++ std::unordered_set"
    label["C-set"] = "C, open addressing"
    exact["HashSet"]; exact["unordered_set"]; exact["C-set"]
}

{
    if (!($1 in points)) names[++series] = $1
    points[$1]++
    n[$1, points[$1]] = $2
    bytes[$1, points[$1]] = $3 / $2
    if ($2 > x_high) x_high = $2
}

END {
    printf "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" font-family=\"sans-serif\" font-size=\"12\">\n", width, height
    print "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>"
    printf "<text x=\"%d\" y=\"24\" font-size=\"15\">Memory of a set of 15-byte keys; filters with a rate of 1 %%</text>\n", left
    text((left + width - right) / 2, height - 10, "middle", "#000", "keys in the set")
    middle = (top + height - bottom) / 2
    printf "<text transform=\"translate(16 %d) rotate(-90)\" text-anchor=\"middle\">bytes a key</text>\n", middle
    count = split("0.5 1 2 5 10 20 50 100 200", tick, " ")
    for (i = 1; i <= count; i++) {
        printf "<path d=\"M%d %.1fH%d\" stroke=\"#ddd\"/>\n", left, y_of(tick[i]), width - right
        text(left - 6, y_of(tick[i]) + 4, "end", "#000", tick[i])
    }
    count = split("1,000 10,000 100,000 1,000,000 10,000,000", tick, " ")
    for (i = 1; i <= count && 10 ^ (i + 2) <= x_high; i++) {
        printf "<path d=\"M%.1f %dV%d\" stroke=\"#eee\"/>\n", x_of(10 ^ (i + 2)), top, height - bottom
        text(x_of(10 ^ (i + 2)), height - bottom + 16, "middle", "#000", tick[i])
    }
    # Names from the bottom up: the series with the fewest bytes first.
    for (i = 1; i <= series; i++) {
        for (j = i; j > 1 && bytes[order[j - 1], points[order[j - 1]]] > bytes[names[i], points[names[i]]]; j--) order[j] = order[j - 1]
        order[j] = names[i]
    }
    place = height
    for (i = 1; i <= series; i++) {
        name = order[i]
        colour = name in exact ? "#a04000" : "#0a5c8a"
        path = ""
        for (j = 1; j <= points[name]; j++) {
            path = path sprintf("%s%.1f %.1f", j == 1 ? "M" : "L", x_of(n[name, j]), y_of(bytes[name, j]))
            printf "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\" fill=\"%s\"/>\n", x_of(n[name, j]), y_of(bytes[name, j]), colour
        }
        printf "<path fill=\"none\" stroke=\"%s\" stroke-width=\"1.5\" d=\"%s\"/>\n", colour, path
        at = y_of(bytes[name, points[name]])
        place = at < place - 14 ? at : place - 14
        words = (name in label ? label[name] : "tamis " name) sprintf(", %.2g", bytes[name, points[name]])
        text(width - right + 10, place + 4, "start", colour, words)
    }
    print "</svg>"
}
