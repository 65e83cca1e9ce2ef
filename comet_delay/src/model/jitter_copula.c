/* Finds the correlation of normal scores that gives the configured correlation of delays. The quantile function is
 * expanded in Hermite polynomials of the score, g(z) = Σ c[k] h[k](z) with h orthonormal. Scores of correlation r then
 * make delays of correlation f(r) = Σ c[k]² r^k / Σ c[k]², k >= 1 (Mehler's formula). f rises from 0 to 1 on [0, 1], so
 * bisection finds r. The integrals for c are sums over a fine grid: exact to many digits for smooth g, and to about
 * 1e-3 of the variance for tables. The variance beyond the first TERMS terms counts as one more term. */
#include "jitter_model.h"

#include <math.h>

enum { TERMS = 64, POINTS = 4096 };
static const double reach = 16; /* in scores: the square of Pareto's tail is not negligible beyond 8 */

/* Computes c[k]², and the rest of the variance as c[TERMS]². */
static void squares(const struct jitter_model *model, double square[TERMS + 1])
{
    double c[TERMS] = {0}, power = 0, step = 2 * reach / POINTS;
    for (int i = 0; i < POINTS; i++) {
        double z = (i + 0.5) * step - reach, g = jitter_quantile(model, z, erfc(z * M_SQRT1_2) / 2);
        double weight = step * exp(-z * z / 2) / sqrt(2 * M_PI), last = 0, h = 1;
        power += weight * g * g;
        for (int k = 0; k < TERMS; k++) {
            c[k] += weight * g * h;
            double next = (z * h - sqrt(k) * last) / sqrt(k + 1);
            last = h;
            h = next;
        }
    }
    square[TERMS] = power - c[0] * c[0];
    for (int k = 1; k < TERMS; k++) {
        square[k] = c[k] * c[k];
        square[TERMS] -= square[k];
    }
    if (square[TERMS] < 0)
        square[TERMS] = 0;
}

double jitter_solve_correlation(const struct jitter_model *model)
{
    double square[TERMS + 1], wanted = (double)model->correlation_ppb / 1e9, low = 0, high = 1, all = 0;
    if (model->kind == JITTER_NORMAL)
        return wanted;
    squares(model, square);
    for (int k = 1; k <= TERMS; k++)
        all += square[k];
    if (all <= 0) /* nothing varies: any correlation will do */
        return wanted;
    for (int i = 0; i < 60; i++) {
        double r = (low + high) / 2, sum = 0;
        for (int k = TERMS; k >= 1; k--)
            sum = (sum + square[k]) * r;
        if (sum < wanted * all)
            low = r;
        else
            high = r;
    }
    return low;
}
