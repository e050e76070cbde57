/* SPDX-License-Identifier: Apache-2.0 */
#include "bound.h"

#include "step_row.h"

#include <math.h>

sl_bound sl_bound_of_size(double width, double height)
{
    return (sl_bound){width, height, width, height, width / height, height / width};
}

sl_bound sl_bound_of_sides(sl_bound sides)
{
    sides.wide = sides.width / sides.least_height;
    sides.tall = sides.height / sides.least_width;
    return sides;
}

sl_bound sl_bound_of_any(void)
{
    return (sl_bound){INFINITY, INFINITY, 1, 1, INFINITY, INFINITY};
}

sl_bound sl_bound_of_both(sl_bound a, sl_bound b)
{
    return (sl_bound){.width = fmax(a.width, b.width),
                      .height = fmax(a.height, b.height),
                      .least_width = fmin(a.least_width, b.least_width),
                      .least_height = fmin(a.least_height, b.least_height),
                      .wide = fmax(a.wide, b.wide),
                      .tall = fmax(a.tall, b.tall)};
}

static double at_most(double side)
{
    return fmax(floor(side + SL_SIDE_SLACK), 1);
}

static double at_least(double side)
{
    return fmax(ceil(side - SL_SIDE_SLACK), 1);
}

sl_bound sl_bound_tighten(sl_bound bound)
{
    sl_bound b = bound;
    b.least_width = at_least(b.least_width);
    b.least_height = at_least(b.least_height);
    b.least_width = fmax(b.least_width, at_least(b.least_height / b.tall));
    b.least_height = fmax(b.least_height, at_least(b.least_width / b.wide));
    b.width = at_most(fmin(b.width, b.height * b.wide));
    b.height = at_most(fmin(b.height, b.width * b.tall));
    b.wide = fmin(b.wide, b.width / b.least_height);
    b.tall = fmin(b.tall, b.height / b.least_width);
    return b;
}
