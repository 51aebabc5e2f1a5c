/* Plans with their tensors at some addresses: a product, tiles, or both. */

#include "plan.h"

/* Whether a product's image and its result are disjoint. */
static int keeps_image(const BoundPlan *bound)
{
    const Product *p = bound->plan->product;
    for (const PackStep *g = p->pack; g < p->pack + p->form.pack_steps; g++)
        if (g->which == RIGHT_FACTORS && g->source >= 0 && !are_disjoint(bound, g->source, bound, result_tensor(bound)))
            return 0;
    return 1;
}

/* Whether sums may go where they belong as they are formed. */
static int stores_directly(const ProductRun *w, const BoundPlan *bound)
{
    const Product *p = w->p;
    /* Which NaN comes out another way has to say, and what is beyond the range: then nothing must have been written. */
    return p->row_at && !p->form.truncates && (product_is_integer(p) || w->is_finite || p->form.keeps_nan) && (!p->image_in_place.at || keeps_image(bound));
}

/* Run plans that follow each other; how many are done: 0, and nothing is done, where the first one cannot run. -1: out of
 * memory, and some of the first one is done. ``concurrent``: or none. */
int plan_run(const BoundPlan *all, int count, int has_pool, Concurrent *concurrent)
{
    const Plan *plan = all->plan;
    if (!plan->product)
        return count > 1 ? fusion_run(all, count, NULL, has_pool, concurrent) : run_tiles(all, has_pool, concurrent);
    const Product *p = plan->product;
    const int64_t everything[4] = {0, p->form.rows, 0, p->form.columns};
    ProductRun w;
    int done = product_begin(&w, plan, all->pointers, has_pool, keeps_image(all));
    w.stores_directly = done && stores_directly(&w, all);
    if (w.stores_directly && count > 1)
        done = fusion_run(all, count, &w, has_pool, concurrent);
    else if (done && !product_sum_parts(&w, everything, concurrent))
        done = w.stores_directly ? -1 : 0;
    else if (done)
        product_store(&w);
    scratch_release(SCRATCH_PRODUCT, w.block);
    return done;
}
