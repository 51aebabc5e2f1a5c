/* Weighted sums over windows, one channel at a time, every product and every addition rounded to the format of the data;
 * see ``weighted`` in pooling.py. Included once per vector width: a chunk of results at a time. */

#define CHUNK 512

/* What one tap meets: results [first, first + count) of a plane. */
static void NAME(load_tap)(float *out, const Windows *w, const float *image, int64_t first, int64_t count)
{
    for (int64_t done = 0; done < count;) {
        const int64_t row = (first + done) / w->width, column = (first + done) % w->width;
        const int64_t left = w->width - column, used = left < count - done ? left : count - done;
        NAME(read_floats)(out + done, image + row * w->line + column * w->step, F32, w->step, used);
        done += used;
    }
}

static void NAME(weighted)(const Windows *w, float *result)
{
    float values[CHUNK], weight[CHUNK], products[CHUNK], buffers[3][CHUNK];
    const float zero = w->negative ? -0.0f : 0.0f;
    const int64_t size = w->height * w->width;
    for (int64_t p = 0; p < w->planes; p++)
        for (int64_t first = 0; first < size; first += CHUNK) {
            const int64_t used = size - first < CHUNK ? size - first : CHUNK;
            float *sums[2] = {buffers[0], buffers[1]}, *spare = buffers[2];
            for (int64_t i = 0; i < used; i++) {
                sums[0][i] = w->starts ? w->starts[p] : zero;
                sums[1][i] = zero;
            }
            int64_t position = w->starts != NULL;
            for (int64_t k = 0; k < w->taps; k++, position++) {
                NAME(load_tap)(values, w, w->image + p * w->plane + w->offsets[k], first, used);
                for (int64_t i = 0; i < used; i++)
                    weight[i] = w->weights[p * w->taps + k];
                NAME(operate)(MULTIPLY, w->format, values, weight, products, used);
                NAME(rounded_to)(products, w->format, 0, used);
                NAME(operate)(ADD, w->format, sums[position & 1], products, spare, used);
                NAME(rounded_to)(spare, w->format, 0, used);
                float *old = sums[position & 1];
                sums[position & 1] = spare;
                spare = old;
            }
            float *out = result + p * size + first;
            if (position > 1)
                NAME(operate)(ADD, w->format, sums[0], sums[1], out, used);
            else
                memcpy(out, sums[0], (size_t)used * sizeof *out);
        }
}

#undef CHUNK
