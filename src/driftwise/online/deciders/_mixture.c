/* A mixture of memories. `compiled_mixture.py` is its Python side; NumPy's form is its definition.

   A `Mixture` allocates all its memory, checks every argument, and frees the memory with itself. Nothing
   outside points into it but the read-only view of its statistics, which keeps it alive.

   Four memories, or four arms, are the lanes of a vector, and each operation acts on all four. Lanes left
   over repeat the first memory and have no weight.

   Matrices are sparse: coordinates are ordered in runs, each with a parent run behind it or none, and an entry
   is zero unless one of its coordinates lies in the run of the other or in an ancestor of that run. The factor
   U of UᵀU has the same zeros. A row is stored from the diagonal on: the rest of the run, and all ancestors.
   So the columns of a row from any of its coordinates on are those of that coordinate's own row. A full matrix
   is a single run. */

#define Py_LIMITED_API 0x030B0000 /* one module for all versions of Python from 3.11 on */
#include <Python.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define INTERFACE 3 /* raised with every change of what Python sees; as in `compiled_mixture.py` */
#define LANES 4
#define MOST 32768 /* memories or dimensions: products of sizes stay far below the largest `Count` */
typedef double Lanes __attribute__((vector_size(LANES * sizeof(double))));
typedef Py_ssize_t Count;

#if defined(__x86_64__) && defined(__GLIBC__) && !defined(__clang__)
#define FASTEST __attribute__((target_clones("fma", "default"))) /* for the processor that it meets */
#else
#define FASTEST
#endif

enum { STATS = 6, ROWS = STATS + 2 }; /* rows: statistics, logarithms of weights, weights */

typedef struct {
    void *memory;                            /* in which all arrays lie */
    Count *order, *ends, *parents, *starts;  /* [dim] of places: coordinates, where runs end, where their parents
                                                begin, or dim; [dim + 1] where rows begin */
    Lanes *gram, *gram_sq, *work;            /* [blocks, size], the same or null, [size + 2 dim] */
} Matrices;

typedef struct {
    PyObject_HEAD
    Count dim, num, blocks, heaviest; /* blocks: vectors that `num` memories need */
    double worst;                     /* as in `LearntNoise` */
    void *memory;                     /* in which all other arrays lie */
    Matrices sums;
    Lanes *rates, *ridges;            /* [blocks] */
    Lanes *cross;                     /* [blocks, dim] by coordinates */
    Lanes *error, *variance;          /* [blocks] of a sample */
    double *prior;                    /* [num] */
    double *stats;                    /* [STATS, num] Σω, Σω² of samples, of errors; sums of squares */
    double *log_weights, *weights;    /* [num] right behind them */
} Mixture;

typedef struct {
    double reward, weight, degrees, scale, share, limit; /* as in `learn` of the Python side */
    const double *features;                              /* [dim] */
} Sample;

typedef struct {
    double radius, variance; /* as in `Width` of the Python side */
    const double *waiting;   /* [dim, dim] or null; its entries count times two of the scale */
    const double *scale;     /* [dim] */
} Width;

/* For the run of a place and for all its ancestors: the columns from `from` on, in its own those from `first` on. */
#define EACH_RUN(s, place, first, dim) \
    for (Count run = (place), from = (first); run < (dim); run = (s)->parents[run], from = run)

/* Multiply a row so that its first number becomes its own root. */
static inline void scale_row(Lanes *row, Count width) {
    Lanes inverse = {0};
    for (Count lane = 0; lane < LANES; lane++) inverse[lane] = 1 / sqrt(row[0][lane]);
    for (Count i = 1; i < width; i++) row[i] *= inverse;
}

/* Subtract a row times its first number from another. */
static inline void subtract_row(Lanes *restrict below, const Lanes *restrict row, Count width) {
    const Lanes share = row[0];
    for (Count c = 0; c < width; c++) below[c] -= share * row[c];
}

/* The same with two rows. */
static inline void subtract_rows(
    Lanes *restrict below, const Lanes *restrict row, const Lanes *restrict other, Count width
) {
    const Lanes share = row[0], other_share = other[0];
    for (Count c = 0; c < width; c++) below[c] -= share * row[c] + other_share * other[c];
}

/* Λ = UᵀU with b and φ as two more columns, which become z = U⁻ᵀb and x = U⁻ᵀφ: the mean is zᵀx, the variance
   xᵀx. False if some matrix has no factor. */
FASTEST static bool forecast(const Mixture *m, const Sample *sample) {
    const Matrices *s = &m->sums;
    const Count d = m->dim, size = s->starts[d];
    Lanes sum = {0};
    for (Count block = 0; block < m->blocks; block++) {
        const Lanes *gram = s->gram + block * size, *cross = m->cross + block * d;
        Lanes mean = {0}, variance = {0};
        for (Count k = 0; k < d; k++) {
            const Count length = s->starts[k + 1] - s->starts[k];
            Lanes *row = s->work + s->starts[k] + 2 * k;
            for (Count i = 0; i < length; i++) row[i] = gram[s->starts[k] + i];
            row[length] = cross[s->order[k]];
            row[length + 1] = sample->features[s->order[k]] + (Lanes){0};
        }
        for (Count k = 0; k < d; k++) {
            Lanes *row = s->work + s->starts[k] + 2 * k;
            const Count width = s->starts[k + 1] - s->starts[k] + 2;
            scale_row(row, width);
            mean += row[width - 2] * row[width - 1];
            variance += row[width - 1] * row[width - 1];
            if (k + 1 < s->ends[k] && k % 2 == 0) { /* two rows at once change the others */
                subtract_row(row + width, row + 1, width - 1);
                continue;
            }
            const Lanes *before = k && s->ends[k - 1] > k && k % 2 ? row - width : NULL; /* from this place on */
            Count at = 1;
            EACH_RUN(s, k, k + 1, d)
                for (Count i = from; i < s->ends[run]; i++, at++) {
                    Lanes *below = s->work + s->starts[i] + 2 * i;
                    if (before) subtract_rows(below, row + at, before + at, width - at);
                    else subtract_row(below, row + at, width - at);
                }
        }
        m->error[block] = sample->reward - mean;
        m->variance[block] = variance;
        sum += variance;
    }
    double total = 0;
    for (Count lane = 0; lane < LANES; lane++) total += sum[lane];
    return total < INFINITY;
}

/* Λ ← ηΛ + φφᵀ + (1−η)λI, Λ̃ with η², and b ← ηb + rφ. */
FASTEST static void absorb(Mixture *m, const Sample *sample) {
    const Matrices *s = &m->sums;
    const Count d = m->dim, size = s->starts[d];
    double *features = (double *)s->work; /* by places */
    for (Count k = 0; k < d; k++) features[k] = sample->features[s->order[k]];
    for (Count block = 0; block < m->blocks; block++) {
        const Lanes rate = m->rates[block];
        Lanes *cross = m->cross + block * d;
        for (Count i = 0; i < d; i++) cross[i] = rate * cross[i] + sample->reward * sample->features[i];
        for (int power = 1; power <= (s->gram_sq ? 2 : 1); power++) {
            Lanes *row = (power == 1 ? s->gram : s->gram_sq) + block * size;
            const Lanes kept = power == 1 ? rate : rate * rate, gained = (1 - kept) * m->ridges[block];
            for (Count k = 0; k < d; k++) {
                Lanes *diagonal = row++;
                *diagonal = kept * *diagonal + features[k] * features[k] + gained;
                if (features[k] == 0) {
                    for (Count i = 1; i < s->starts[k + 1] - s->starts[k]; i++, row++) *row *= kept;
                    continue;
                }
                EACH_RUN(s, k, k + 1, d)
                    for (Count i = from; i < s->ends[run]; i++, row++) *row = kept * *row + features[k] * features[i];
            }
        }
    }
}

/* Move the reward to where the error of the heaviest memory is no outlier. */
static void clip(Mixture *m, Sample *sample) {
    double *errors = (double *)m->error;
    const double error = errors[m->heaviest], doubt = ((double *)m->variance)[m->heaviest] + 1;
    const double most = sample->limit < INFINITY ? sample->limit * sqrt(doubt) : INFINITY;
    if (!(fabs(error) > most)) return;
    const double excess = copysign(most, error) - error;
    for (Count j = 0; j < m->num; j++) errors[j] += excess;
    sample->reward += excess;
}

/* Set the weights, and the first of the largest, from the logarithms. */
static void find_weights(Mixture *m) {
    m->heaviest = 0;
    for (Count j = 0; j < m->num; j++) {
        m->weights[j] = exp(m->log_weights[j]);
        if (m->weights[j] > m->weights[m->heaviest]) m->heaviest = j;
    }
}

/* `LearntNoise.relative_score` and `FixedShare.update`, and the statistics of the memories. Returns the
   weighted mean of the squared errors. */
static double weigh(Mixture *m, const Sample *sample) {
    const Count row = m->num;
    const double scale = sample->scale, share = sample->share, power = -0.5 * (sample->degrees + 1);
    const double *rates = (double *)m->rates;
    double *away = (double *)m->error, *posterior = (double *)m->variance; /* both are read, then written */
    double squared_error = 0, least = INFINITY, total = 0;
    for (Count j = 0; j < m->num; j++) {
        const double doubt = posterior[j] + 1, square = away[j] * away[j] / doubt, rate = rates[j];
        const double kept[] = {rate, rate * rate, rate, rate * rate, rate, 1};
        const double gained[] = {sample->weight, sample->weight, 1, 1, square, square};
        for (Count k = 0; k < STATS; k++) m->stats[k * row + j] = kept[k] * m->stats[k * row + j] + gained[k];
        squared_error += m->weights[j] * square;
        away[j] = scale > 0 ? log1p(fmin(square / scale, m->worst)) : 0;
        least = fmin(least, away[j]);
        posterior[j] = m->log_weights[j] - (scale > 0 ? 0.5 * log(doubt) : 0);
    }
    for (Count j = 0; j < m->num; j++) {
        posterior[j] = exp(posterior[j] + power * (away[j] - least)); /* some score is near 0 */
        total += posterior[j];
    }
    for (Count j = 0; j < m->num; j++)
        m->log_weights[j] = log((1 - share) / total * posterior[j] + share * m->prior[j]);
    find_weights(m);
    return squared_error;
}

/* The entry of two coordinates in the sums of what waits. */
static inline double waiting_entry(const Width *width, Count one, Count other, Count d) {
    return width->scale[one] * width->scale[other] * width->waiting[one * d + other];
}

/* Factor the gram of a memory, plus what waits, and more on its diagonal, into UᵀU, with 1 over the diagonal.
   False if it has no factor. */
FASTEST static bool factorise(double *factor, const Mixture *m, const double *gram, const Width *waits, double more) {
    const Matrices *s = &m->sums;
    const Count d = m->dim;
    for (Count i = 0; i < s->starts[d]; i++) factor[i] = gram[i * LANES];
    for (Count k = 0, at = 0; waits && k < d; k++)
        EACH_RUN(s, k, k, d)
            for (Count i = from; i < s->ends[run]; i++) factor[at++] += waiting_entry(waits, s->order[k], s->order[i], d);
    for (Count k = 0; k < d; k++) {
        const Count length = s->starts[k + 1] - s->starts[k];
        double *row = factor + s->starts[k];
        row[0] = 1 / sqrt(row[0] + more);
        if (!(row[0] < INFINITY)) return false;
        for (Count i = 1; i < length; i++) row[i] *= row[0];
        Count at = 1;
        EACH_RUN(s, k, k + 1, d)
            for (Count i = from; i < s->ends[run]; i++, at++) {
                double *restrict below = factor + s->starts[i];
                const double *restrict beside = row + at, share = beside[0];
                for (Count c = 0; c < length - at; c++) below[c] -= share * beside[c];
            }
    }
    return true;
}

/* Turn x into U⁻ᵀx by some rows, and add its squares there. */
FASTEST static void solve_transposed(
    const Mixture *m, const double *factor, Lanes *x, Count first, Count stop, Lanes *squares
) {
    const Matrices *s = &m->sums;
    for (Count k = first; k < stop; k++) {
        if (x[k][0] == 0 && x[k][1] == 0 && x[k][2] == 0 && x[k][3] == 0) continue;
        const double *row = factor + s->starts[k];
        const Lanes value = x[k] *= *row++;
        *squares += value * value;
        EACH_RUN(s, k, k + 1, m->dim)
            for (Count i = from; i < s->ends[run]; i++) x[i] -= *row++ * value;
    }
}

/* Turn x into U⁻¹x, and add its squares. */
FASTEST static void solve(const Mixture *m, const double *factor, Lanes *x, Lanes *squares) {
    const Matrices *s = &m->sums;
    for (Count k = m->dim - 1; k >= 0; k--) {
        const double *row = factor + s->starts[k], diagonal = *row++;
        Lanes sum = {0}, others[3] = {0}; /* sums that do not wait for each other */
        EACH_RUN(s, k, k + 1, m->dim) {
            const Lanes *above = x + from;
            Count left = s->ends[run] - from;
            for (; left > 3; left -= 4, row += 4, above += 4) {
                sum += row[0] * above[0];
                for (Count i = 0; i < 3; i++) others[i] += row[i + 1] * above[i + 1];
            }
            for (; left > 0; left--) sum += *row++ * *above++;
        }
        x[k] = diagonal * (x[k] - (sum + others[0] + others[1] + others[2]));
        *squares += x[k] * x[k];
    }
}

/* `Width.excess`, from the factor of Λ and the squared length of Λ⁻¹b; x has room for d vectors. */
FASTEST static double excess(
    const Mixture *m, const double *factor, Lanes *x, double size, double ridge, double variance
) {
    const Matrices *s = &m->sums;
    const Count d = m->dim;
    const double most = ridge * size / variance;
    double trace = 0;
    Lanes squares = {0};
    if (!(most > 1)) return 0;
    for (Count k = 0, num; k < d; k += num) { /* unit vectors of the same run, which stay in it and above */
        num = s->ends[k] - k < LANES ? s->ends[k] - k : LANES;
        EACH_RUN(s, k, k, d)
            for (Count i = from; i < s->ends[run]; i++) x[i] = (Lanes){0};
        for (Count i = 0; i < num; i++) x[k + i][i] = 1;
        EACH_RUN(s, k, k, d) solve_transposed(m, factor, x, from, s->ends[run], &squares);
    }
    for (Count lane = 0; lane < LANES; lane++) trace += squares[lane];
    return ridge * fmax(most / sqrt(fmax((double)d - ridge * trace, 1)) - 1, 0);
}

/* What the bounds of arms in a memory follow from. */
typedef struct {
    const double *gram, *gram_sq; /* of the memory, in its lane */
    const Width *waits;           /* null if nothing waits */
    Lanes *x;                     /* [dim] of some arms */
    double *weights, *factor;     /* Λ⁻¹b, U of Λ and what waits; there is room for a second factor behind it */
    double more;                  /* the excess of a learnt prior */
} Posterior;

/* Set the posterior of memory j. False if some matrix has no factor. */
FASTEST static bool find_posterior(Posterior *p, const Mixture *m, Count j, const Width *width) {
    const Matrices *s = &m->sums;
    const Count d = m->dim, block = j / LANES, lane = j % LANES, size = s->starts[d];
    const double *cross = (double *)(m->cross + block * d) + lane;
    double *weights = (double *)(s->work + d), *factor = weights + d;
    Lanes *x = s->work, unused = {0}, square = {0};
    p->gram = (double *)(s->gram + block * size) + lane, p->waits = width->waiting ? width : NULL;
    p->gram_sq = s->gram_sq ? (double *)(s->gram_sq + block * size) + lane : NULL;
    p->x = x, p->weights = weights, p->factor = factor;
    if (!factorise(factor, m, p->gram, NULL, 0)) return false;
    for (Count k = 0; k < d; k++) x[k] = (Lanes){cross[s->order[k] * LANES]};
    solve_transposed(m, factor, x, 0, d, &unused);
    solve(m, factor, x, &square);
    for (Count k = 0; k < d; k++) weights[k] = x[k][0];
    const double ridge = ((double *)m->ridges)[j], variance = width->variance;
    p->more = variance > 0 ? excess(m, factor, x, square[0], ridge, variance) : 0;
    return !p->waits || factorise(factor, m, p->gram, p->waits, 0);
}

/* Copy up to four arms to their places, and return how many; add their forecasts. */
static Count read_arms(const Posterior *p, const Mixture *m, const double *arms, Count left, Lanes *mean) {
    const Count some = left < LANES ? left : LANES;
    for (Count k = 0; k < m->dim; k++) {
        const double *column = arms + m->sums.order[k];
        for (Count arm = 0; arm < LANES; arm++) p->x[k][arm] = arm < some ? column[arm * m->dim] : 0;
        *mean += p->weights[k] * p->x[k];
    }
    return some;
}

/* Upper bounds xᵀΛ⁻¹b + radius ‖x‖ of arms in memory j, with the norm by Λ⁻¹Λ̃Λ⁻¹, or by Λ⁻¹ where there is
   no Λ̃, and the excess of a learnt prior. False if Λ has no factor. */
FASTEST static bool bound(
    const Mixture *m, Count j, const Width *width, Count num_arms, const double *arms, double *index,
    double *bonus
) {
    const Matrices *s = &m->sums;
    const Count d = m->dim;
    Posterior p;
    if (!find_posterior(&p, m, j, width)) return false;
    Lanes *x = p.x;
    for (Count first = 0; first < num_arms; first += LANES) {
        Lanes mean = {0}, norm = {0};
        const Count some = read_arms(&p, m, arms + first * d, num_arms - first, &mean);
        solve_transposed(m, p.factor, x, 0, d, &norm);
        if (p.gram_sq || p.more > 0) {
            const double *row = p.gram_sq;
            Lanes squares = {0};
            solve(m, p.factor, x, &squares);
            if (row) norm = (Lanes){0};
            for (Count k = 0; p.gram_sq && k < d; k++) {
                Lanes half = {0};
                EACH_RUN(s, k, k, d)
                    for (Count i = from; i < s->ends[run]; i++, row += LANES) {
                        const double entry = *row + (p.waits ? waiting_entry(p.waits, s->order[k], s->order[i], d) : 0);
                        half += (i == k ? 0.5 * entry : entry) * x[i];
                    }
                norm += 2 * half * x[k];
            }
            norm += p.more * squares;
        }
        for (Count arm = 0; arm < some; arm++) {
            bonus[first + arm] = width->radius * sqrt(fabs(norm[arm]));
            index[first + arm] = mean[arm] + bonus[first + arm];
        }
    }
    return true;
}

/* Forecasts of arms in memory j, and rows Ũ(UᵀU)⁻¹x with ŨᵀŨ = UᵀU + ρI, where no Λ̃ is stored. False if there is no
   factor. */
FASTEST static bool spread(
    const Mixture *m, Count j, const Width *width, Count num_arms, const double *arms, double *mean, double *rows
) {
    const Matrices *s = &m->sums;
    const Count d = m->dim;
    Posterior p;
    if (!find_posterior(&p, m, j, width)) return false;
    double *factor = p.factor + s->starts[d];
    if (p.more > 0 && !factorise(factor, m, p.gram, p.waits, p.more)) return false;
    for (Count first = 0; first < num_arms; first += LANES) {
        Lanes forecast = {0}, unused = {0};
        const Count some = read_arms(&p, m, arms + first * d, num_arms - first, &forecast);
        solve_transposed(m, p.factor, p.x, 0, d, &unused);
        if (p.more > 0) solve(m, p.factor, p.x, &unused);
        for (Count k = 0; k < d; k++) {
            Lanes value = p.x[k];
            if (p.more > 0) {
                const double *row = factor + s->starts[k];
                value /= *row++;
                EACH_RUN(s, k, k + 1, d)
                    for (Count i = from; i < s->ends[run]; i++) value += *row++ * p.x[i];
            }
            for (Count arm = 0; arm < some; arm++) rows[(first + arm) * d + s->order[k]] = value[arm];
        }
        for (Count arm = 0; arm < some; arm++) mean[first + arm] = forecast[arm];
    }
    return true;
}

/* Set the runs of a layout [3, dim] of `order`, `ends` and `parents`, or a single run. False with an error if they
   are no runs. */
static bool set_runs(Matrices *s, const double *layout, Count d) {
    memset(s->starts, 0, (size_t)d * sizeof(Count)); /* which coordinates were seen */
    for (Count k = 0; k < d; k++) {
        const double numbers[] = {layout ? layout[k] : k, layout ? layout[d + k] : d, layout ? layout[2 * d + k] : d};
        const bool fits = numbers[0] >= 0 && numbers[0] < d && numbers[1] > k && numbers[1] <= d &&
                          numbers[2] >= numbers[1] && numbers[2] <= d;
        if (!fits) goto wrong; /* also where one is NaN */
        s->order[k] = (Count)numbers[0], s->ends[k] = (Count)numbers[1], s->parents[k] = (Count)numbers[2];
        if (s->starts[s->order[k]]++) goto wrong;
        if (k && s->ends[k - 1] > k && (s->ends[k] != s->ends[k - 1] || s->parents[k] != s->parents[k - 1])) goto wrong;
    }
    for (Count k = 0; k < d; k++) { /* a parent begins where the run before it ends */
        const Count parent = s->parents[k];
        if (parent < d && s->ends[parent - 1] != parent) goto wrong;
    }
    s->starts[0] = 0;
    for (Count k = 0; k < d; k++) {
        s->starts[k + 1] = s->starts[k] + 1;
        EACH_RUN(s, k, k + 1, d) s->starts[k + 1] += s->ends[run] - from;
    }
    return true;
wrong:
    return PyErr_Format(PyExc_ValueError, "layout: expected different coordinates in runs before their parents"), false;
}

/* `size` vectors of zeros that begin at a multiple of their size, in memory that has to be freed. */
static Lanes *allocate(void **memory, Count size) {
    *memory = PyMem_Calloc((size_t)size + 1, sizeof(Lanes));
    if (!*memory) return PyErr_NoMemory(), NULL;
    return (Lanes *)(((uintptr_t)*memory + sizeof(Lanes) - 1) & ~(uintptr_t)(sizeof(Lanes) - 1));
}

static void free_matrices(Matrices *s) {
    PyMem_Free(s->order);
    PyMem_Free(s->memory);
    *s = (Matrices){0};
}

/* Allocate matrices of zeros in a layout, null for full ones. False with an error, and nothing allocated. */
static bool allocate_matrices(const Mixture *m, Matrices *s, const double *layout, bool squared) {
    const Count d = m->dim, blocks = m->blocks;
    *s = (Matrices){0};
    if (!(s->order = PyMem_Calloc((size_t)(4 * d + 1), sizeof(Count)))) return PyErr_NoMemory(), false;
    s->ends = s->order + d, s->parents = s->ends + d, s->starts = s->parents + d;
    if (!set_runs(s, layout, d)) return free_matrices(s), false;
    const Count size = s->starts[d];
    if (!(s->gram = allocate(&s->memory, (1 + squared) * blocks * size + size + 2 * d))) return free_matrices(s), false;
    s->work = s->gram + blocks * size;
    if (squared) s->gram_sq = s->work, s->work += blocks * size;
    return true;
}

/* Allocate the other arrays of a mixture whose sizes are set, all zero. False with an error if memory is short. */
static bool allocate_numbers(Mixture *m) {
    const Count blocks = m->blocks, d = m->dim;
    if (!(m->rates = allocate(&m->memory, (4 + d + 1 + ROWS) * blocks))) return false;
    m->ridges = m->rates + blocks, m->error = m->ridges + blocks, m->variance = m->error + blocks;
    m->cross = m->variance + blocks;
    m->prior = (double *)(m->cross + blocks * d);
    m->stats = m->prior + m->num;
    m->log_weights = m->stats + STATS * m->num;
    m->weights = m->log_weights + m->num;
    return true;
}

/* Where the entry of two places lies, `low` before `high`, or -1 where it is not stored. */
static Count find_entry(const Matrices *s, Count low, Count high, Count d) {
    Count at = s->starts[low];
    if (low == high) return at;
    at++;
    EACH_RUN(s, low, low + 1, d) {
        if (high < from) return -1;
        if (high < s->ends[run]) return at + high - from;
        at += s->ends[run] - from;
    }
    return -1;
}

/* Move all matrices into another layout, in which what is stored in no place is lost. */
static bool arrange(Mixture *m, const double *layout) {
    const Count d = m->dim, old_size = m->sums.starts[d];
    Matrices old = m->sums, new;
    if (!allocate_matrices(m, &new, layout, old.gram_sq)) return false;
    const Count size = new.starts[d];
    Count *places = (Count *)old.work; /* of coordinates */
    for (Count k = 0; k < d; k++) places[old.order[k]] = k;
    for (Count k = 0, at = 0; k < d; k++) {
        const Count one = places[new.order[k]];
        EACH_RUN(&new, k, k, d)
            for (Count i = from; i < new.ends[run]; i++, at++) {
                const Count other = places[new.order[i]];
                const Count entry = find_entry(&old, one < other ? one : other, one < other ? other : one, d);
                for (Count block = 0; entry >= 0 && block < m->blocks; block++) {
                    new.gram[block * size + at] = old.gram[block * old_size + entry];
                    if (old.gram_sq) new.gram_sq[block * size + at] = old.gram_sq[block * old_size + entry];
                }
            }
    }
    free_matrices(&m->sums);
    m->sums = new;
    return true;
}

/* Copy values [num, size] into the lanes [blocks, size, LANES]. */
static void fill_lanes(const Mixture *m, Lanes *lanes, const double *values, Count size) {
    for (Count j = 0; j < m->blocks * LANES; j++)
        for (Count i = 0; i < size; i++)
            lanes[j / LANES * size + i][j % LANES] = values[(j < m->num ? j : 0) * size + i];
}

/* Copy one memory of lanes [blocks, size, LANES] to values [size]. */
static void read_lanes(const Lanes *lanes, double *values, Count j, Count size) {
    for (Count i = 0; i < size; i++) values[i] = lanes[j / LANES * size + i][j % LANES];
}

/* Copy the lower halves of matrices [num, dim, dim] into lanes [blocks, size]. */
static void fill_matrices(const Mixture *m, Lanes *lanes, const double *values) {
    const Matrices *s = &m->sums;
    const Count d = m->dim;
    for (Count j = 0; j < m->blocks * LANES; j++) {
        const double *matrix = values + (j < m->num ? j : 0) * d * d;
        double *entry = (double *)(lanes + j / LANES * s->starts[d]) + j % LANES;
        for (Count k = 0; k < d; k++)
            EACH_RUN(s, k, k, d)
                for (Count i = from; i < s->ends[run]; i++, entry += LANES)
                    *entry = matrix[s->order[i] * d + s->order[k]];
    }
}

/* Copy the symmetric matrix of one memory. Adding 0 removes the signs of zeros. */
static void read_matrix(const Mixture *m, const Lanes *lanes, double *values, Count j) {
    const Matrices *s = &m->sums;
    const Count d = m->dim;
    const double *entry = (double *)(lanes + j / LANES * s->starts[d]) + j % LANES;
    memset(values, 0, (size_t)(d * d) * sizeof(double));
    for (Count k = 0; k < d; k++)
        EACH_RUN(s, k, k, d)
            for (Count i = from; i < s->ends[run]; i++, entry += LANES) {
                const Count row = s->order[i], column = s->order[k];
                values[row * d + column] = values[column * d + row] = *entry + 0.0;
            }
}

static void refuse_type(const char *name, const char *expected, PyObject *given) {
    PyObject *type = PyType_GetName(Py_TYPE(given));
    if (type) PyErr_Format(PyExc_TypeError, "%s: expected %s, got an object of type %U", name, expected, type);
    Py_XDECREF(type);
}

/* Set the number that an argument is. False with an error if it is none. */
static bool read_number(double *number, const char *name, PyObject *given) {
    if (!PyNumber_Check(given)) return refuse_type(name, "a number", given), false;
    *number = PyFloat_AsDouble(given);
    return *number != -1 || !PyErr_Occurred();
}

static void describe_shape(char *text, size_t size, int ndim, const Count *shape) {
    size_t used = (size_t)snprintf(text, size, "(");
    for (int i = 0; i < ndim && used < size; i++) {
        const char *end = i + 1 < ndim ? ", " : ndim == 1 ? "," : "";
        if (shape[i] < 0) used += (size_t)snprintf(text + used, size - used, "n%s", end);
        else used += (size_t)snprintf(text + used, size - used, "%lld%s", (long long)shape[i], end);
    }
    if (used < size) snprintf(text + used, size - used, ")");
}

/* The numbers of an array of this shape, in which -1 is any size, or NULL with an error. The view keeps them
   in place until it is released, and has to be zero before. */
static double *open_array(
    Py_buffer *view, const char *name, PyObject *array, int flags, int ndim, const Count *shape
) {
    if (!PyObject_CheckBuffer(array)) return refuse_type(name, "an array of 64-bit floats", array), NULL;
    if (PyObject_GetBuffer(array, view, flags | PyBUF_STRIDES | PyBUF_FORMAT)) return NULL;
    bool same = view->ndim == ndim;
    for (int i = 0; same && i < ndim; i++) same = shape[i] < 0 || view->shape[i] == shape[i];
    if (!same) {
        char expected[100], given[400];
        describe_shape(expected, sizeof expected, ndim, shape);
        describe_shape(given, sizeof given, view->ndim, view->shape);
        PyErr_Format(PyExc_ValueError, "%s: expected the shape %s, got %s", name, expected, given);
    } else if (view->itemsize != sizeof(double) || !view->format || strcmp(view->format, "d")) {
        const char *format = view->format ? view->format : "B";
        PyErr_Format(PyExc_ValueError, "%s: expected 64-bit floats, got the format '%s'", name, format);
    } else if (!PyBuffer_IsContiguous(view, 'C') || (uintptr_t)view->buf % sizeof(double)) {
        PyErr_Format(PyExc_ValueError, "%s: expected an aligned array in C order, got another layout", name);
    } else {
        return view->buf;
    }
    return NULL;
}

static void release_all(Py_buffer *views, size_t num) {
    for (size_t i = 0; i < num; i++) PyBuffer_Release(views + i); /* nothing for one that is zero */
}

/* Whether so many arguments came; an error otherwise. */
static bool require_count(const char *name, Count expected, Count given) {
    if (given == expected) return true;
    PyErr_Format(PyExc_TypeError, "%s() takes %zd arguments, got %zd", name, expected, given);
    return false;
}

/* The number of a memory, or -1 with an error. */
static Count memory_of(const Mixture *m, PyObject *number) {
    const Count j = PyLong_AsSsize_t(number);
    if (j == -1 && PyErr_Occurred()) return -1;
    if (j >= 0 && j < m->num) return j;
    PyErr_Format(PyExc_IndexError, "memory: expected a number from 0 to %zd, got %zd", m->num - 1, j);
    return -1;
}

/* Fill a new mixture from arrays, which are checked here. */
static bool fill(Mixture *m, PyObject *const *arrays, Py_buffer *views) {
    enum { RATES, RIDGES, PRIOR, GRAM, GRAM_SQ, CROSS, STATISTICS, LOG_WEIGHTS, LAYOUT };
    const bool squared = arrays[GRAM_SQ] != Py_None;
    const Count any[] = {-1, -1};
    const double *cross = open_array(views + CROSS, "cross", arrays[CROSS], 0, 2, any);
    if (!cross) return false;
    m->num = views[CROSS].shape[0], m->dim = views[CROSS].shape[1], m->blocks = (m->num + LANES - 1) / LANES;
    if (m->num < 1 || m->dim < 1 || m->num > MOST || m->dim > MOST) {
        const char *text = "cross: expected 1 to %d memories and dimensions, got %zd and %zd";
        return PyErr_Format(PyExc_ValueError, text, MOST, m->num, m->dim), false;
    }
    const Count num[] = {m->num}, square[] = {m->num, m->dim, m->dim}, table[] = {STATS, m->num};
    const Count rows[] = {3, m->dim};
    const double *rates, *ridges, *prior, *gram, *gram_sq = NULL, *stats, *log_weights, *layout = NULL;
    if (!(rates = open_array(views + RATES, "rates", arrays[RATES], 0, 1, num)) ||
        !(ridges = open_array(views + RIDGES, "ridges", arrays[RIDGES], 0, 1, num)) ||
        !(prior = open_array(views + PRIOR, "prior", arrays[PRIOR], 0, 1, num)) ||
        !(gram = open_array(views + GRAM, "gram", arrays[GRAM], 0, 3, square)) ||
        (squared && !(gram_sq = open_array(views + GRAM_SQ, "gram_sq", arrays[GRAM_SQ], 0, 3, square))) ||
        !(stats = open_array(views + STATISTICS, "stats", arrays[STATISTICS], 0, 2, table)) ||
        !(log_weights = open_array(views + LOG_WEIGHTS, "log_weights", arrays[LOG_WEIGHTS], 0, 1, num)) ||
        (arrays[LAYOUT] != Py_None &&
         !(layout = open_array(views + LAYOUT, "layout", arrays[LAYOUT], 0, 2, rows))) ||
        !allocate_numbers(m) || !allocate_matrices(m, &m->sums, layout, squared))
        return false;
    fill_lanes(m, m->rates, rates, 1);
    fill_lanes(m, m->ridges, ridges, 1);
    fill_matrices(m, m->sums.gram, gram);
    if (squared) fill_matrices(m, m->sums.gram_sq, gram_sq);
    fill_lanes(m, m->cross, cross, m->dim);
    memcpy(m->prior, prior, (size_t)m->num * sizeof(double));
    memcpy(m->stats, stats, (size_t)(STATS * m->num) * sizeof(double));
    memcpy(m->log_weights, log_weights, (size_t)m->num * sizeof(double));
    find_weights(m);
    return true;
}

static PyObject *mixture_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    PyObject *arrays[9];
    Py_buffer views[9] = {{0}};
    double worst;
    if (kwargs && PyDict_Size(kwargs))
        return PyErr_Format(PyExc_TypeError, "Mixture() takes no keyword arguments");
    if (!PyArg_ParseTuple(
            args, "OOOOOOOOOd:Mixture", arrays, arrays + 1, arrays + 2, arrays + 3, arrays + 4, arrays + 5,
            arrays + 6, arrays + 7, arrays + 8, &worst
        ))
        return NULL;
    const allocfunc make = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    Mixture *m = (Mixture *)make(type, 0);
    if (!m) return NULL;
    m->worst = worst;
    if (!fill(m, arrays, views)) Py_CLEAR(m);
    release_all(views, 9);
    return (PyObject *)m;
}

static void mixture_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    const freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    free_matrices(&((Mixture *)self)->sums);
    PyMem_Free(((Mixture *)self)->memory);
    release(self);
    Py_DECREF(type);
}

/* The read-only view [ROWS, num] of statistics and weights, as bytes. */
static int mixture_view(PyObject *self, Py_buffer *view, int flags) {
    const Mixture *m = (Mixture *)self;
    return PyBuffer_FillInfo(view, self, m->stats, ROWS * m->num * (Count)sizeof(double), 1, flags);
}

static PyObject *mixture_heaviest(PyObject *self, void *closure) {
    (void)closure;
    return PyLong_FromSsize_t(((Mixture *)self)->heaviest);
}

/* The six numbers of a sample, and last, since numbers may run code of their own, its features. */
static bool open_sample(const Mixture *m, PyObject *const *args, Sample *sample, Py_buffer *view) {
    return read_number(&sample->reward, "reward", args[1]) && read_number(&sample->weight, "weight", args[2]) &&
           read_number(&sample->degrees, "degrees", args[3]) && read_number(&sample->scale, "scale", args[4]) &&
           read_number(&sample->share, "share", args[5]) && read_number(&sample->limit, "limit", args[6]) &&
           (sample->features = open_array(view, "features", args[0], 0, 1, &m->dim));
}

static PyObject *mixture_learn(PyObject *self, PyObject *const *args, Count num) {
    Mixture *m = (Mixture *)self;
    Sample sample;
    Py_buffer view = {0};
    PyObject *result = NULL;
    if (!require_count("learn", 7, num)) return NULL;
    if (open_sample(m, args, &sample, &view)) {
        if (forecast(m, &sample)) {
            clip(m, &sample);
            const double squared_error = weigh(m, &sample);
            absorb(m, &sample);
            result = PyFloat_FromDouble(squared_error);
        } else {
            result = Py_NewRef(Py_None);
        }
    }
    PyBuffer_Release(&view);
    return result;
}

static PyObject *mixture_learn_forecast(PyObject *self, PyObject *const *args, Count num) {
    Mixture *m = (Mixture *)self;
    Sample sample;
    Py_buffer views[3] = {{0}};
    const double *error, *variance;
    PyObject *result = NULL;
    if (!require_count("learn_forecast", 9, num)) return NULL;
    if (open_sample(m, args, &sample, views) &&
        (error = open_array(views + 1, "error", args[7], 0, 1, &m->num)) &&
        (variance = open_array(views + 2, "variance", args[8], 0, 1, &m->num))) {
        memcpy(m->error, error, (size_t)m->num * sizeof(double));
        memcpy(m->variance, variance, (size_t)m->num * sizeof(double));
        clip(m, &sample);
        const double squared_error = weigh(m, &sample);
        absorb(m, &sample);
        result = PyFloat_FromDouble(squared_error);
    }
    release_all(views, 3);
    return result;
}

/* Fill two arrays of arms by `bound` or by `spread`, whose second has a row for each. */
static PyObject *fill_arms(PyObject *self, PyObject *const *args, bool spreads) {
    const Mixture *m = (Mixture *)self;
    Py_buffer views[5] = {{0}};
    const double *arms;
    double *index, *bonus;
    PyObject *result = NULL;
    Width width = {0};
    if (!read_number(&width.radius, "radius", args[1]) || !read_number(&width.variance, "variance", args[2]))
        return NULL;
    const Count j = memory_of(m, args[0]), shape[] = {-1, m->dim}, square[] = {m->dim, m->dim};
    if (j < 0) return NULL;
    if ((args[3] == Py_None || ((width.waiting = open_array(views + 3, "waiting", args[3], 0, 2, square)) &&
                                (width.scale = open_array(views + 4, "scale", args[4], 0, 1, &m->dim)))) &&
        (arms = open_array(views, "arms", args[5], 0, 2, shape)) &&
        (index = open_array(views + 1, "index", args[6], PyBUF_WRITABLE, 1, views[0].shape)) &&
        (bonus = open_array(views + 2, "bonus", args[7], PyBUF_WRITABLE, 1 + spreads, views[0].shape))) {
        if (spreads && m->sums.gram_sq) PyErr_Format(PyExc_ValueError, "spread: expected a mixture without gram_sq");
        else result = PyBool_FromLong((spreads ? spread : bound)(m, j, &width, views[0].shape[0], arms, index, bonus));
    }
    release_all(views, 5);
    return result;
}

static PyObject *mixture_bounds(PyObject *self, PyObject *const *args, Count num) {
    return require_count("bounds", 8, num) ? fill_arms(self, args, false) : NULL;
}

static PyObject *mixture_spread(PyObject *self, PyObject *const *args, Count num) {
    return require_count("spread", 8, num) ? fill_arms(self, args, true) : NULL;
}

static PyObject *mixture_read(PyObject *self, PyObject *const *args, Count num) {
    const Mixture *m = (Mixture *)self;
    Py_buffer views[3] = {{0}};
    double *gram, *gram_sq = NULL, *cross;
    PyObject *result = NULL;
    if (!require_count("read", 4, num)) return NULL;
    const Count j = memory_of(m, args[0]), square[] = {m->dim, m->dim};
    if (j < 0) return NULL;
    const bool squared = m->sums.gram_sq;
    if (!squared != (args[2] == Py_None)) {
        const char *text = "gram_sq: expected %s, as when the mixture was made";
        return PyErr_Format(PyExc_ValueError, text, squared ? "an array" : "None");
    }
    if ((gram = open_array(views, "gram", args[1], PyBUF_WRITABLE, 2, square)) &&
        (!squared || (gram_sq = open_array(views + 1, "gram_sq", args[2], PyBUF_WRITABLE, 2, square))) &&
        (cross = open_array(views + 2, "cross", args[3], PyBUF_WRITABLE, 1, &m->dim))) {
        read_matrix(m, m->sums.gram, gram, j);
        if (gram_sq) read_matrix(m, m->sums.gram_sq, gram_sq, j);
        read_lanes(m->cross, cross, j, m->dim);
        result = Py_NewRef(Py_None);
    }
    release_all(views, 3);
    return result;
}

static PyObject *mixture_renew(PyObject *self, PyObject *const *args, Count num) {
    Mixture *m = (Mixture *)self;
    if (!require_count("renew", 1, num)) return NULL;
    const Count source = memory_of(m, args[0]), last = m->num - 1, size = m->sums.starts[m->dim];
    if (source < 0) return NULL;
    Lanes *const sums[] = {m->sums.gram, m->cross, m->sums.gram_sq};
    const Count sizes[] = {size, m->dim, size};
    for (int k = 0; k < (m->sums.gram_sq ? 3 : 2); k++) {
        const Lanes *from = sums[k] + source / LANES * sizes[k];
        Lanes *to = sums[k] + last / LANES * sizes[k];
        for (Count i = 0; i < sizes[k]; i++) to[i][last % LANES] = from[i][source % LANES];
    }
    for (Count k = 0; k < STATS; k++) m->stats[k * m->num + last] = m->stats[k * m->num + source];
    Py_RETURN_NONE;
}

static PyObject *mixture_arrange(PyObject *self, PyObject *const *args, Count num) {
    Mixture *m = (Mixture *)self;
    Py_buffer view = {0};
    const Count rows[] = {3, m->dim};
    if (!require_count("arrange", 1, num)) return NULL;
    const double *layout = open_array(&view, "layout", args[0], 0, 2, rows);
    PyObject *result = layout && arrange(m, layout) ? Py_NewRef(Py_None) : NULL;
    PyBuffer_Release(&view);
    return result;
}

#define METHOD(name, function, text) {name, (PyCFunction)(void (*)(void))function, METH_FASTCALL, text}

static PyMethodDef methods[] = {
    METHOD("learn", mixture_learn,
           "learn(features, reward, weight, degrees, scale, share, limit)\n\nLearn from a sample and return its "
           "squared error; None, and nothing changed, if a matrix has no factor."),
    METHOD("learn_forecast", mixture_learn_forecast,
           "learn_forecast(features, reward, weight, degrees, scale, share, limit, error, variance)\n\nLearn from a "
           "sample whose errors and variances in all memories are known."),
    METHOD("bounds", mixture_bounds,
           "bounds(memory, radius, variance, waiting, scale, arms, index, bonus)\n\nFill the indices and the bonuses of arms in a "
           "memory; False if its matrix has no factor."),
    METHOD("spread", mixture_spread,
           "spread(memory, radius, variance, waiting, scale, arms, index, bonus)\n\nFill the forecasts of arms, and for "
           "each the row that a normal vector is multiplied by; False if its matrix has no factor."),
    METHOD("read", mixture_read,
           "read(memory, gram, gram_sq, cross)\n\nFill arrays with the sums of a memory."),
    METHOD("arrange", mixture_arrange,
           "arrange(layout)\n\nMove the matrices into another layout; what is stored nowhere in it is lost."),
    METHOD("renew", mixture_renew, "renew(source)\n\nLet the last memory continue from a copy of another."),
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef attributes[] = {
    {"heaviest", mixture_heaviest, NULL, "The number of the memory with the largest weight.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot mixture_slots[] = {
    {Py_tp_doc, "Mixture(rates, ridges, prior, gram, gram_sq, cross, stats, log_weights, layout, worst)\n\nMemories "
                "with their weights. As a buffer: statistics, logarithms of the weights, weights."},
    {Py_tp_new, mixture_new},
    {Py_tp_dealloc, mixture_dealloc},
    {Py_tp_methods, methods},
    {Py_tp_getset, attributes},
    {Py_bf_getbuffer, mixture_view},
    {0, NULL},
};

static PyType_Spec mixture_spec = {
    .name = "driftwise.online.deciders._mixture.Mixture",
    .basicsize = sizeof(Mixture),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = mixture_slots,
};

static int fill_module(PyObject *module) {
    PyObject *type = PyType_FromModuleAndSpec(module, &mixture_spec, NULL);
    const int failed = !type || PyModule_AddType(module, (PyTypeObject *)type);
    Py_XDECREF(type);
    return failed || PyModule_AddIntConstant(module, "INTERFACE", INTERFACE) ||
                   PyModule_AddStringConstant(module, "SOURCE", SOURCE)
               ? -1
               : 0;
}

static PyModuleDef_Slot module_slots[] = {{Py_mod_exec, fill_module}, {0, NULL}};

static struct PyModuleDef module = {
    .m_base = PyModuleDef_HEAD_INIT, .m_name = "_mixture", .m_size = 0, .m_slots = module_slots
};

PyMODINIT_FUNC PyInit__mixture(void) { return PyModuleDef_Init(&module); }
