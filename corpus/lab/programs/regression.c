/* Data-parallel training of a linear model: broadcast of the weights, gradients by Allreduce, evaluation by Gather. The lab breaks it by faults.h. */
#include "faults.h"

#include <math.h>
#include <time.h>

enum { WIDTH = 256, BATCH = 32 };

static double uniform(unsigned *seed) { return rand_r(seed) / (double)RAND_MAX - 0.5; }

double gradient_of_batch(const double *weights, double *gradient, unsigned *seed) {
    double loss = 0, row[WIDTH];
    memset(gradient, 0, WIDTH * sizeof *gradient);
    for (int b = 0; b < BATCH; b++) {
        double error = 0;
        for (int i = 0; i < WIDTH; i++) { row[i] = uniform(seed); error += row[i] * (weights[i] - i / (double)WIDTH); }
        for (int i = 0; i < WIDTH; i++) gradient[i] += error * row[i] / BATCH;
        loss += error * error / BATCH;
    }
    return loss;
}

/* Gradients of all ranks into one sum; where the lab says so, a rank does it wrongly. */
void share(double *gradient, double *sum, int rank, int step) {
    if (fault_is("shorter", rank, step)) { MPI_Allreduce(gradient, sum, WIDTH / 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD); return; }
    if (fault_is("bcast", rank, step)) { MPI_Bcast(gradient, WIDTH * 4, MPI_DOUBLE, 0, MPI_COMM_WORLD); return; }
    if (fault_is("other_root", rank, step)) { MPI_Bcast(sum, WIDTH, MPI_DOUBLE, rank, MPI_COMM_WORLD); return; }
    if (fault_is("aliased", rank, step)) { MPI_Allreduce(gradient, gradient, WIDTH, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD); return; }
    if (fault_is("freed_comm", rank, step)) {
        MPI_Comm copy, freed;
        MPI_Comm_dup(MPI_COMM_SELF, &copy);
        freed = copy;
        MPI_Comm_free(&copy);
        MPI_Allreduce(gradient, sum, WIDTH, MPI_DOUBLE, MPI_SUM, freed);
        return;
    }
    if (fault_is("nothing", rank, step)) return;
    MPI_Allreduce(gradient, sum, WIDTH, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

void evaluate(double loss, int rank, int size, int step) {
    double *all = malloc(size * sizeof *all), mean = 0;
    MPI_Gather(&loss, 1, MPI_DOUBLE, all, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    for (int i = 0; rank == 0 && i < size; i++) mean += all[i] / size;
    if (rank == 0) printf("step %d: val_loss %.5f (best model kept)\n", step, mean);
    free(all);
}

void train(int steps, int pause, int rank, int size) {
    double weights[WIDTH] = {0}, gradient[WIDTH], sum[WIDTH];
    unsigned seed = 17 + rank;
    struct timespec rest = {pause / 1000, pause % 1000 * 1000000L};
    MPI_Bcast(weights, WIDTH, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    for (int step = 1; step <= steps; step++) {
        fault_strikes(rank, step);
        double loss = gradient_of_batch(weights, gradient, &seed);
        share(gradient, sum, rank, step);
        for (int i = 0; i < WIDTH; i++) weights[i] -= 0.5 * sum[i] / size;
        nanosleep(&rest, NULL);
        if (rank == 0 && step % 10 == 0) printf("step %d/%d loss %.5f lr 5.0e-01\n", step, steps, loss);
        if (step % 50 == 0) evaluate(loss, rank, size, step);
        fflush(stdout);
    }
}

int main(int argc, char **argv) {
    int rank, size, length, steps = argc > 1 ? atoi(argv[1]) : 100, pause = argc > 2 ? atoi(argv[2]) : 5;
    char host[MPI_MAX_PROCESSOR_NAME];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Get_processor_name(host, &length);
    printf("[rank %d/%d] on %s, batch %d\n", rank, size, host, BATCH);
    fflush(stdout);
    train(steps, pause, rank, size);
    if (rank == 0) printf("training finished after %d steps\n", steps);
    fflush(stdout);
    MPI_Finalize();
    return 0;
}
