/* The operands of a product put together, in parts that threads may share: nothing is put where nothing belongs, then all
 * numbers come from where they are stored, then left factors get the order in which they are used. */

/* [*first, *last): one of ``parts`` parts of ``count`` numbers, in whole blocks. */
static void take_part(int64_t count, int64_t block, int64_t part, int64_t parts, int64_t *first, int64_t *last)
{
    const int64_t blocks = (count + block - 1) / block;
    *first = blocks * part / parts * block;
    *last = blocks * (part + 1) / parts * block;
    *last = *last < count ? *last : count;
}

/* Numbers of an image where none is put. */
static void fill_image(const Product *p, char *image, int64_t first, int64_t last)
{
    if (image_as(p) == AS_BYTES)
        memset(image + first, (int)p->fill, (size_t)(last - first));
    else if (image_as(p) == AS_WORDS)
        for (int64_t i = first; i < last; i++)
            ((int16_t *)(void *)image)[i] = (int16_t)p->fill;
    else
        for (int64_t i = first; i < last; i++)
            ((float *)(void *)image)[i] = p->fill;
}

/* Where nothing is put. */
static void fill_part(void *of, int64_t part, int64_t parts)
{
    const Work *w = of;
    const Product *p = w->p;
    int64_t first, last;
    take_part(p->image, 64, part, parts, &first, &last);
    if (p->is_filled && !w->reads_planes)
        fill_image(p, w->image, first, last);
    if (p->has_gaps) {
        take_part(p->rows * p->count, 64, part, parts, &first, &last);
        memset(w->left + first * size_as[left_as(p)], 0, (size_t)((last - first) * size_as[left_as(p)]));
    }
}

/* Whether factors are not put together, or not yet. */
static int is_read_in_place(const Work *w, int which)
{
    return which == RIGHT_FACTORS ? w->reads_planes || w->p->image_at.at : which == LEFT_FACTORS && w->in_quads && w->p->left_at.at;
}

/* The axis of a part of an image along which planes follow each other; one of one element, if there is one plane; else -1. */
static int find_plane_axis(const Gathered *g, int64_t plane)
{
    int found = -1, single = -1;
    int64_t last = g->first % plane;
    for (int axis = 0; axis < 4; axis++) {
        if (g->shape[axis] == 1)
            single = axis < 3 ? axis : single;
        else if (found < 0 && axis < 3 && g->step[axis] == plane)
            found = axis;
        else if (g->step[axis] < 0)
            return -1;
        else
            last += (g->shape[axis] - 1) * g->step[axis];
    }
    return last >= plane ? -1 : found < 0 ? single : found;
}

/* Whether the planes of an image can be put together one by one. */
static void find_planes(Product *p)
{
    p->has_planes = p->how >= WINDOWS_OF_FLOATS && p->rows && p->image % p->rows == 0 && p->image >= p->rows;
    for (int i = 0; i < p->gathered && p->has_planes; i++)
        if (p->from[i].which == RIGHT_FACTORS) {
            p->from[i].plane_axis = find_plane_axis(&p->from[i], p->image / p->rows);
            p->has_planes = p->from[i].plane_axis >= 0;
        }
}

/* Planes [first, last) of an image, put together at ``image``. */
static void gather_planes(const Work *w, int64_t first, int64_t last, char *image)
{
    const Product *p = w->p;
    const int64_t plane = p->image / p->rows;
    if (p->is_filled)
        fill_image(p, image, 0, (last - first) * plane);
    for (int i = 0; i < p->gathered; i++) {
        Gathered g = p->from[i];
        const int axis = g.plane_axis;
        const int64_t begin = g.first / plane, end = begin + g.shape[axis];
        const int64_t from = first > begin ? first : begin, to = last < end ? last : end;
        if (g.which != RIGHT_FACTORS || from >= to)
            continue;
        const char *data = g.source < 0 ? (const char *)&g.constant : moved_by(g.from.data, w->pointers[g.source]);
        g.shape[axis] = to - from;
        g.first += (from - begin - first) * plane;
        gather(&g, data + (from - begin) * g.from.step[axis] * size_of_word[g.from.format], image, image_as(p), NULL);
    }
}

/* A part of all operands, each along its longest axis. */
static void gather_part(void *of, int64_t part, int64_t parts)
{
    Work *w = of;
    const Product *p = w->p;
    uint32_t range[2] = {UINT32_MAX, 0};
    for (int i = 0; i < p->gathered; i++) {
        Gathered g = p->from[i];
        const int axis = longest_axis(g.shape, 4);
        int64_t first, last;
        take_part(g.shape[axis], axis == 3 ? 64 : 1, part, parts, &first, &last);
        if (first == last || is_read_in_place(w, g.which))
            continue;
        const int64_t moved = first * g.from.step[axis] * size_of_word[g.from.format];
        const char *data = g.source < 0 ? (const char *)&g.constant : moved_by(g.from.data, w->pointers[g.source]);
        g.shape[axis] = last - first;
        g.first += first * g.step[axis];
        if (g.which == LEFT_FACTORS)
            gather(&g, data + moved, w->left, w->in_quads ? AS_BYTES : left_as(p), NULL);
        else if (g.which == RIGHT_FACTORS)
            gather(&g, data + moved, w->image, image_as(p), p->how == IN_CHAINS ? range : NULL);
        else
            gather(&g, data + moved, w->starts[g.which - FIRST_START], start_as(p), NULL);
    }
    memcpy(w->ranges[RIGHT_FACTORS][part], range, sizeof range);
}

/* Adds one start to the sums of some rows; the first one is what they begin with. */
static void start_groups(const Work *w, int number, int64_t top, int64_t end)
{
    const Product *p = w->p;
    const float *start = (const float *)w->starts[number];
    float own[256], before[256];
    const int64_t row_step = p->start_rows[number] > 1 ? p->start_columns[number] : 0;
    const int64_t step = p->start_columns[number] > 1;
    for (int64_t row = top; row < end; row++)
        for (int64_t first = 0; first < p->columns; first += 256) {
            const int64_t used = p->columns - first < 256 ? p->columns - first : 256;
            float *to = (float *)w->sums + row * p->columns + first;
            for (int64_t i = 0; i < used; i++)
                own[i] = start[row * row_step + (first + i) * step];
            memcpy(before, to, (size_t)used * sizeof *own);
            if (number)
                chosen->elementwise(ADD, before, own, to, used);
            else
                memcpy(to, own, (size_t)used * sizeof *own);
        }
}

/* Steps in a start between rows, and between columns. */
static void start_steps(const Product *p, int number, int64_t *row, int64_t *column)
{
    *row = number < p->starts && p->start_rows[number] > 1 ? p->start_columns[number] : 0;
    *column = number < p->starts && p->start_columns[number] > 1;
}

/* Where sums are put. */
static void *results_of(const Work *w)
{
    return w->is_direct ? (void *)(uintptr_t)w->pointers[w->result] : w->sums;
}

static Requantisation requantisation_of(const Work *w)
{
    Requantisation r = w->p->r;
    r.multiplier = w->steps[0];
    r.amount = w->steps[1];
    r.zero = w->steps[2];
    r.held |= w->has_own_starts; /* 32 bits hold these sums */
    return r;
}

/* Sums of whole numbers as the kernel takes them. */
static Whole whole_of_work(const Work *w)
{
    const Product *p = w->p;
    Whole of = {.left = (const int16_t *)w->packed, .left_type = p->left_type,
                .quads = w->in_quads ? (const uint8_t *)w->packed : NULL, .image = w->image, .taps = p->taps, .places = p->places,
                .rows = p->rows, .count = p->count, .columns = p->columns, .type = p->type,
                .start = p->starts ? (const int64_t *)w->starts[0] : NULL, .row_at = w->is_direct ? p->row_at : NULL};
    start_steps(p, 0, &of.start_row, &of.start_column);
    if (w->has_own_starts) {
        of.start = w->own_starts;
        of.start_row = 1;
    }
    if (p->image_at.at) {
        of.image = direct_data(&p->image_at, w->pointers);
        of.taps = p->image_at.at;
    }
    return of;
}

/* Left factors of some rows in the order in which they are used. */
static void pack_part(void *of, int64_t part, int64_t parts)
{
    Work *w = of;
    const Product *p = w->p;
    int64_t first, last;
    take_part(p->rows, ROWS, part, parts, &first, &last);
    if (p->how == EXACTLY) {
        const Requantisation r = requantisation_of(w);
        const Whole of = whole_of_work(w);
        for (int64_t row = first; row < last; row++)
            w->short_steps[row] = shortened_row(&of, &r, row);
    }
    if (w->in_quads) {
        const RowsOfBytes rows = {p->left_at.at ? direct_data(&p->left_at, w->pointers) : w->left, p->left_at.at, p->rows, p->count};
        packed_quads(&rows, p->left_type, p->type, first, last, (uint8_t *)w->packed);
    }
    else if (p->how == EXACTLY)
        packed_pairs((const int16_t *)w->left, first, last, p->count, (int16_t *)w->packed);
    else if (p->how == IN_GROUPS)
        for (int i = 0; i < p->starts; i++)
            start_groups(w, i, first, last);
    else if (p->how == IN_CHAINS) {
        packed_floats((const float *)w->left, first, last, p->count, (float *)w->packed);
        uint32_t range[2] = {UINT32_MAX, 0};
        chosen->widen_range((const float *)w->left + first * p->count, (last - first) * p->count, range);
        memcpy(w->ranges[LEFT_FACTORS][part], range, sizeof range);
    }
}

/* Of sums of two chains: whether none can be subnormal, and whether all are finite. */
static void judge_ranges(Work *w, int64_t left_parts, int64_t right_parts)
{
    const Product *p = w->p;
    uint32_t of[2][2] = {{UINT32_MAX, 0}, {UINT32_MAX, 0}}, starts[2] = {UINT32_MAX, 0};
    if (p->is_filled)
        chosen->widen_range(&p->fill, 1, of[RIGHT_FACTORS]);
    for (int which = LEFT_FACTORS; which <= RIGHT_FACTORS; which++)
        for (int64_t i = 0; i < (which == LEFT_FACTORS ? left_parts : right_parts); i++) {
            const uint32_t *range = w->ranges[which][i];
            of[which][0] = range[0] < of[which][0] ? range[0] : of[which][0];
            of[which][1] = range[1] > of[which][1] ? range[1] : of[which][1];
        }
    for (int i = 0; i < p->starts; i++)
        chosen->widen_range((const float *)w->starts[i], start_size(p, i), starts);
    w->normal = least_exponent(of[0][0]) + least_exponent(of[1][0]) - 23 >= -126 && least_exponent(starts[0]) - 23 >= -126;
    /* Each product is below 2^(sum of both + 2), and all together are below 2^64 times as much. */
    const int64_t left = exponent_of(of[0][1]), right = exponent_of(of[1][1]), start = exponent_of(starts[1]);
    w->is_finite = left + right + 2 + 64 < 127 && start < 100;
}

/* Products that reading a number, or writing one, takes as long as. */
#define STEPS_OF_READING 16

/* Reads all operands. */
static void prepare(Work *w)
{
    const Product *p = w->p;
    laid_out(p, w->block, w);
    w->in_quads = multiplies_bytes() && p->how == EXACTLY && p->type != SIGNED_WORDS;
    const int64_t left = p->rows * p->count;
    const int64_t gathered = (is_read_in_place(w, RIGHT_FACTORS) ? 0 : p->image) + (is_read_in_place(w, LEFT_FACTORS) ? 0 : left);
    if ((p->is_filled && !w->reads_planes) || p->has_gaps)
        together(w->joined, parts_of(w->joined, p->image * STEPS_OF_READING, MOST_PARTS), fill_part, w);
    for (int i = p->starts; i < 2 && !is_whole(p); i++)
        memcpy(w->starts[i], &p->zero, sizeof p->zero);
    const int64_t parts = parts_of(w->joined, gathered * STEPS_OF_READING, MOST_PARTS);
    together(w->joined, parts, gather_part, w);
    for (int i = 0; i < 3 && is_whole(p); i++)
        for (int64_t row = 0; row < p->rows; row++)
            w->steps[i][row] = p->numbers[i];
    if (p->how <= EXACTLY) {
        const int64_t written = p->how == IN_GROUPS ? p->rows * p->columns : left;
        const int64_t packed = parts_of(w->joined, written * STEPS_OF_READING, (p->rows + ROWS - 1) / ROWS);
        together(w->joined, packed, pack_part, w);
        if (p->how == IN_CHAINS)
            judge_ranges(w, packed, parts);
    } else if (p->is_zero_positive)
        for (int64_t i = 0; i < start_size(p, 0); i++)
            ((float *)w->starts[0])[i] += 0.0f;
}
